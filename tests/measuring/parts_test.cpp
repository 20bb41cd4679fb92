// A candidate whose output is judged in parts, other parts in each round.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "apps/measuring/measure.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/float_formats.h"

namespace lenslet {
namespace {

constexpr size_t kCount = 1000;

/// Writes i + round at place i, except for the elements that the test omits.
class Counter : public Candidate {
 public:
  explicit Counter(size_t left_out) : left_out_(left_out) {}
  std::string name() const override { return "counter"; }
  void load(int round, Stream&) override { round_ = round; }
  void run(Stream&) override {
    for (size_t i = 0; i < kCount; ++i) {
      if (i != left_out_) output_[i] = static_cast<float>(i) + static_cast<float>(round_);
    }
  }
  float* output() override { return output_.data(); }
  size_t output_count() const override { return kCount; }
  std::vector<Part> judged(int round) const override { return {{static_cast<size_t>(round), 3}, {900, 2}}; }
  Verdict judge(int round, const std::vector<float>& output) override {
    const float first = static_cast<float>(2 * round);
    const std::vector<float> expected = {first, first + 1, first + 2, 900.0f + static_cast<float>(round),
                                         901.0f + static_cast<float>(round)};
    Verdict verdict;
    verdict.passed = output == expected;
    verdict.reason = verdict.passed ? "" : "other parts than those asked for";
    ++judged_;
    return verdict;
  }
  int judged_ = 0;

 private:
  size_t left_out_;
  int round_ = 0;
  std::vector<float> output_ = std::vector<float>(kCount);
};

/// Leaves its last judged output to a thread that writes it after the check.
class Straggler : public Counter {
 public:
  Straggler() : Counter(901) {}
  void load(int round, Stream& stream) override {
    Counter::load(round, stream);
    downloads_ = 0;
  }
  std::vector<Part> judged(int round) const override {
    if (++downloads_ == 3) const_cast<Straggler*>(this)->output()[901] = 1;
    return Counter::judged(round);
  }

 private:
  mutable int downloads_ = 0;  // since the input was loaded: each check first queries the parts
};

/// A candidate whose copies to host memory omit one element.
class CopiedCounter : public Counter {
 public:
  explicit CopiedCounter(size_t not_copied) : Counter(kCount), not_copied_(not_copied) {}
  bool end_to_end() const override { return true; }
  void copy_out(Stream&) override {
    for (size_t i = 0; i < kCount; ++i) {
      if (i != not_copied_) host_[i] = output()[i];
    }
  }
  float* host_output() override { return host_.data(); }

 private:
  size_t not_copied_;
  std::vector<float> host_ = std::vector<float>(kCount);
};

/// Like CopiedCounter, with elements of fp16, which hold these numbers exactly.
class HalfCounter : public Counter {
 public:
  HalfCounter(size_t left_out, size_t not_copied)
      : Counter(kCount), left_out_(left_out), not_copied_(not_copied) {}
  void load(int round, Stream&) override { round_ = round; }
  void run(Stream&) override {
    for (size_t i = 0; i < kCount; ++i) {
      if (i != left_out_) halves_[i] = float_to_half(static_cast<float>(i) + static_cast<float>(round_));
    }
  }
  float* output() override { return reinterpret_cast<float*>(halves_.data()); }
  ElementType output_type() const override { return ElementType::kFp16; }
  bool end_to_end() const override { return true; }
  void copy_out(Stream&) override {
    for (size_t i = 0; i < kCount; ++i) {
      if (i != not_copied_) host_[i] = halves_[i];
    }
  }
  float* host_output() override { return reinterpret_cast<float*>(host_.data()); }
  /// The element after the output.
  bool next_is_whole() const { return halves_[kCount] == kNext && host_[kCount] == kNext; }

 private:
  static constexpr uint16_t kNext = 0x1234;
  static std::vector<uint16_t> elements() {
    std::vector<uint16_t> all(kCount + 1);
    all.back() = kNext;
    return all;
  }

  size_t left_out_, not_copied_;
  int round_ = 0;
  std::vector<uint16_t> halves_ = elements(), host_ = elements();
};

Measurement measure_one(Counter& counter) {
  Stream stream(Device::cpu());
  MeasureOptions options;
  options.warmup_ms = 1;
  options.min_time_ms = 1;
  options.cold = false;
  options.end_to_end = counter.end_to_end();
  return measure({&counter}, stream, options).at(0);
}

TEST(JudgedParts, AreWhatTheJudgeSees) {
  Counter counter(kCount);
  const Measurement measured = measure_one(counter);
  EXPECT_EQ(measured.status, row_status::kPassed) << measured.reason;
  EXPECT_GT(measured.hot.samples, 0u);
  EXPECT_GE(counter.judged_, 3) << "before, during and after";
}

TEST(JudgedParts, AreWhatTheJudgeSeesFromHostToHost) {
  CopiedCounter copied(kCount);
  const Measurement measured = measure_one(copied);
  EXPECT_EQ(measured.status, row_status::kPassed) << measured.reason;
  EXPECT_GT(measured.end_to_end.samples, 0u);
  CopiedCounter forgetful(901);
  EXPECT_EQ(measure_one(forgetful).reason,
            "from host to host: skipped work: 1 of 5 outputs were never written");
}

TEST(JudgedParts, AreSearchedForWhatWasNeverWritten) {
  Counter counter(901);
  const Measurement measured = measure_one(counter);
  EXPECT_EQ(measured.status, row_status::kFailed);
  EXPECT_EQ(measured.reason, "skipped work: 1 of 5 outputs were never written");
  EXPECT_EQ(measured.hot.samples, 0u);
}

TEST(JudgedParts, AreComparedToTheLastOutput) {
  Straggler straggler;
  const Measurement measured = measure_one(straggler);
  EXPECT_EQ(measured.status, row_status::kFailed);
  EXPECT_NE(measured.reason.find("the output still changed after run() had returned"), std::string::npos)
      << measured.reason;
}

TEST(JudgedParts, OfHalvesAreWidened) {
  HalfCounter counter(kCount, kCount);
  const Measurement measured = measure_one(counter);
  EXPECT_EQ(measured.status, row_status::kPassed) << measured.reason;
  EXPECT_GT(measured.hot.samples, 0u);
  EXPECT_GT(measured.end_to_end.samples, 0u);
  EXPECT_GE(counter.judged_, 3);
  EXPECT_TRUE(counter.next_is_whole()) << "poison has the output's size";
}

TEST(JudgedParts, OfHalvesAreSearchedForWhatWasNeverWritten) {
  HalfCounter counter(901, kCount);
  EXPECT_EQ(measure_one(counter).reason, "skipped work: 1 of 5 outputs were never written");
  HalfCounter forgetful(kCount, 901);
  EXPECT_EQ(measure_one(forgetful).reason,
            "from host to host: skipped work: 1 of 5 outputs were never written");
}

/// Returns at once if an output is there; load() clears it.
class LazyCounter : public Counter {
 public:
  LazyCounter() : Counter(kCount) {}
  void load(int round, Stream& stream) override {
    Counter::load(round, stream);
    std::fill_n(output(), kCount, NAN);
  }
  void run(Stream& stream) override {
    if (std::isnan(*output())) Counter::run(stream);
  }
};

TEST(JudgedParts, OfAnotherInputStandWhenItIsRunAgain) {
  LazyCounter counter;
  const Measurement measured = measure_one(counter);
  EXPECT_EQ(measured.status, row_status::kFailed);
  EXPECT_NE(measured.reason.find("wrong where the output of another input stood"), std::string::npos)
      << measured.reason;
}

}  // namespace
}  // namespace lenslet
