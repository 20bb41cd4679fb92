// How long the turns of a slow candidate take together, and that the progress is shown between them.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "apps/measuring/measure.h"

namespace lenslet {
namespace {

constexpr double kRunMs = 20;

/// Sleeps in every run; counts those with the timed input.
class Sleeper : public Candidate {
 public:
  std::string name() const override { return "sleeper"; }
  void load(int round, Stream&) override { round_ = round; }
  void run(Stream&) override {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(kRunMs));
    output_ = static_cast<float>(round_);
    if (round_ == kTimed) ++timed_;
  }
  float* output() override { return &output_; }
  size_t output_count() const override { return 1; }
  Verdict judge(int round, const std::vector<float>& output) override {
    Verdict verdict;
    verdict.passed = output.at(0) == static_cast<float>(round);
    return verdict;
  }
  int timed() const { return timed_; }

 private:
  float output_ = 0;
  int round_ = 0, timed_ = 0;
};

constexpr double kMinTimeMs = 10;

Measurement measure_for_10_ms(Sleeper& sleeper, bool cold, const std::function<void()>& pulse = {}) {
  Stream stream(Device::cpu());
  MeasureOptions options;
  options.warmup_ms = 0;
  options.min_time_ms = kMinTimeMs;
  options.hot = !cold;
  options.cold = cold;
  options.pulse = pulse;
  return measure({&sleeper}, stream, options).at(0);
}

TEST(Turns, TogetherTakeAtMostTenTimesTheRequestedTime) {
  Sleeper sleeper;
  const Measurement measured = measure_for_10_ms(sleeper, false);
  EXPECT_EQ(measured.status, "PASSED") << measured.reason;
  EXPECT_GE(measured.hot.samples, 1u);
  const int of_the_check = 1;  // on the answer of the input before
  EXPECT_LE((sleeper.timed() - of_the_check) * kRunMs, kPatience * kMinTimeMs)
      << "also the runs that fill the caches count";
}

TEST(Turns, IncludeTheFlushes) {
  Sleeper sleeper;
  const Measurement measured = measure_for_10_ms(sleeper, true);
  EXPECT_EQ(measured.status, "PASSED") << measured.reason;
  EXPECT_GE(measured.cold.samples, 1u);
  EXPECT_LT(static_cast<double>(measured.cold.samples) * kRunMs, kPatience * kMinTimeMs);
}

TEST(Turns, ShowTheProgressBeforeEach) {
  Sleeper sleeper;
  int pulses = 0;
  const Measurement measured = measure_for_10_ms(sleeper, false, [&] { ++pulses; });
  EXPECT_GE(pulses, 4 + static_cast<int>(measured.hot.samples)) << "first call, checks, and each turn";
}

}  // namespace
}  // namespace lenslet
