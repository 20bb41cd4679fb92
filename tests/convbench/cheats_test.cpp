// A set of cheating kernels: each wraps a correct one, and convbench must give none of them a time. The message must
// name each cheat, on the CPU and on the GPU (the same source, compiled once for each).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "apps/convbench/bench/conv_bench.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/poison.h"
#include "layers/conv/prepare_services.h"
#include "tests/convbench/cheating_backend.h"
#include "tests/support/sanitizers.h"

namespace lenslet {
namespace {

constexpr const char* kProblem = "mb1ic3ih48oc3kh3ph1";
constexpr const char* kLarge = "mb1ic3ih640oc3kh3ph1";  // the reference judges one output in eight

class Cheats : public testing::Test {
 protected:
  void SetUp() override {
    if (kDevice.is_cuda()) LENSLET_SKIP_WITHOUT_GPU();
    options_.device = kDevice.is_cuda() ? "cuda" : "cpu";
    options_.json = "";
    options_.measure.warmup_ms = 1;
    options_.measure.min_time_ms = 5;
    options_.measure.min_samples = 10;  // a busy machine takes no fewer, so that every cheat has its turn
  }

  std::vector<ResultRow> rows_of(const Cheat& cheat, const char* problem = kProblem) {
    return rows_of(CheatingBackend(cheat), problem);
  }

  std::vector<ResultRow> rows_of(const ConvBackend& backend, const char* problem = kProblem) {
    BenchSession session(options_, "run");
    ConvBenchRequest request;
    request.problem = Conv2dProblem::parse(problem);
    request.specs = {
        {"cheat", [&]() -> const ConvBackend& { return backend; }, MathMode::kFp32, {}, false, {}}};
    return bench_conv(request, session);
  }

  void expect_caught(const Cheat& cheat, const std::string& status, const std::string& by_name,
                     const char* problem = kProblem) {
    expect_caught(CheatingBackend(cheat), status, by_name, problem);
  }

  void expect_caught(const ConvBackend& backend, const std::string& status, const std::string& by_name,
                     const char* problem = kProblem) {
    const std::vector<ResultRow> rows = rows_of(backend, problem);
    ASSERT_EQ(rows.size(), 2u);  // hot and cold
    for (const ResultRow& row : rows) {
      EXPECT_EQ(row.status, status) << row.reason;
      EXPECT_NE(row.reason.find(by_name), std::string::npos) << row.reason;
      EXPECT_EQ(row.time.samples, 0u) << "a cheat has a time";
    }
  }

  BenchOptions options_;
};

TEST_F(Cheats, AnHonestKernelPasses) {
  for (const ResultRow& row : rows_of(work)) {
    EXPECT_EQ(row.status, row_status::kPassed) << row.reason;
    EXPECT_GT(row.time.median, 0);
    ASSERT_TRUE(row.error);
    EXPECT_GT(row.error->checked, 0);
  }
}

TEST_F(Cheats, SkippingAllWork) { expect_caught(skip, row_status::kFailed, "skipped work"); }

TEST_F(Cheats, SkippingTheLastElement) {
  expect_caught(
      [](Victim& victim, const ConvArgs& args, RunContext& context) {
        work(victim, args, context);
        float* last = args.y + victim.output_bytes() / sizeof(float) - 1;
        fill_bytes(last, context.stream.device(), kNanByte, sizeof(float), context.stream);
      },
      row_status::kFailed, "skipped work: 1 of");
}

TEST_F(Cheats, SkippingWorkOnceItIsTimed) {
  expect_caught(after(kMaxRunsBeforeTiming, skip), row_status::kFailed, "skipped work");
}

TEST_F(Cheats, ReturningACachedOutput) {
  expect_caught(return_cached, row_status::kFailed, "returned a cached output");
}

// Per output, as a kernel can do it: `if (!isnan(y[i])) return;`.
TEST_F(Cheats, ReturningWhereAnOutputStands) {
  expect_caught([](Victim& victim, const ConvArgs& args,
                   RunContext& context) { work_where_none_stands(victim, args, context, false); },
                row_status::kFailed, "wrong where the output of another input stood");
}

// A problem for which the lazy kernel works for at least 30 us on this device and in this build: much longer than an
// empty run, yet short enough for batches, whose runs take less than 100 us.
std::string problem_of_some_microseconds() {
  constexpr double kMinNs = 30e3;
  Stream stream(kDevice);
  DevicePrepareServices services(stream);
  for (int channels = 1;; channels += (channels + 1) / 2) {
    const std::string text = concat("mb1ic", channels, kDevice.is_cuda() ? "ih32oc64kh3ph1" : "ih6oc4kh3ph1");
    const Conv2dProblem problem = Conv2dProblem::parse(text);
    const auto count = [](const Shape& shape) { return static_cast<size_t>(shape.num_elements()); };
    const size_t outputs = count(problem.output_shape());
    const std::vector<float> ones(std::max(count(problem.input_shape()), count(problem.weight_shape())),
                                  1.0f);
    const auto x = services.upload(ones.data(), count(problem.input_shape()));
    const auto weights = services.upload(ones.data(), count(problem.weight_shape()));
    const auto y = services.allocate(outputs * sizeof(float));
    LazyConv conv = lazy_conv_of(problem);
    conv.x = x.get(), conv.weights = weights.get(), conv.y = static_cast<float*>(y.get());
    const auto time_ns = [&] {
      return services.time_ns([&] {
        fill_bytes(conv.y, stream.device(), kNanByte, outputs * sizeof(float),
                   stream);  // NaN: no answer is there
        run_lazy_conv(stream, conv);
      });
    };
    // A busy machine makes some runs longer.
    if (std::min({time_ns(), time_ns(), time_ns()}) >= kMinNs) return text;
  }
}

// The same, but it also detects another input: all its outputs are correct, and only its time is wrong. A run takes
// some tens of microseconds, so that several make a batch.
TEST_F(Cheats, ReturningWhereItsOwnOutputStands) {
  const std::string problem = problem_of_some_microseconds();
  SCOPED_TRACE(problem);
  expect_caught([](Victim& victim, const ConvArgs& args,
                   RunContext& context) { work_where_none_stands(victim, args, context, true); },
                row_status::kFailed, "skips work where its output stands", problem.c_str());
}

// When captured as one graph it skips all runs but every eighth: launched one by one it is honest, and the replayed
// batch leaves the correct output.
TEST_F(Cheats, LeavingOutRunsOfACapturedBatch) {
  if (!kDevice.is_cuda()) GTEST_SKIP() << "the CPU has no graphs to replay";
  expect_caught(
      [](Victim& victim, const ConvArgs& args, RunContext& context) {
        if (!is_captured(context.stream) || victim.captured++ % 8 == 0) work(victim, args, context);
      },
      row_status::kFailed, "skip", "mb1ic64ih64oc64kh3ph1");
}

// The timed kernel has neither bias nor ReLU, but must be correct with them too.
TEST_F(Cheats, DroppingTheBias) {
  expect_caught(ForgetfulBackend([](ConvPrepare& request) { request.bias = nullptr; }), row_status::kFailed,
                "with bias, ReLU for mb1ic3ih48oc3oh48kh3ph1: ");
}

TEST_F(Cheats, DroppingReLU) {
  expect_caught(ForgetfulBackend([](ConvPrepare& request) { request.rectifier = {}; }), row_status::kFailed,
                "with bias, ReLU for ");
}

TEST_F(Cheats, DroppingTheBiasWhereItPools) {
  expect_caught(ForgetfulBackend([](ConvPrepare& request) {
                  if (request.max_pool) request.bias = nullptr;
                }),
                row_status::kFailed, "with bias, ReLU, max pooling for ");
}

TEST_F(Cheats, DroppingThePooling) {
  expect_caught(ForgetfulBackend([](ConvPrepare& request) { request.max_pool.reset(); }), row_status::kFailed,
                "with bias, ReLU, max pooling for ");
}

TEST_F(Cheats, GoingWrongAfterSomeCalls) {
  expect_caught(after(21, spoil), row_status::kFailed, "wrong after ");
}

// Correct until it is timed: the output of the timed runs is judged before the last check.
TEST_F(Cheats, GoingWrongWhileItIsTimed) {
  expect_caught(after(kMaxRunsBeforeTiming, spoil), row_status::kFailed, "while it was timed");
}

TEST_F(Cheats, WorkingElsewhere) {
  if (test::kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer reports the race that this cheat is";
  expect_caught(work_elsewhere, row_status::kFailed, kElsewhere);
}

TEST_F(Cheats, WritingOutsideItsOutput) {
  expect_caught(write_past, row_status::kFailed, "wrote past the end of block 1");
}

// One output that the reference does not judge, in the middle of a large problem.
TEST_F(Cheats, HidingANan) {
  expect_caught(
      [](Victim& victim, const ConvArgs& args, RunContext& context) {
        work(victim, args, context);
        // 0x7fffffff byte by byte: a NaN other than the poison.
        unsigned char* middle =
            reinterpret_cast<unsigned char*>(args.y + victim.output_bytes() / sizeof(float) / 2 + 7);
        fill_bytes(middle, context.stream.device(), 0xff, 3, context.stream);
        fill_bytes(middle + 3, context.stream.device(), 0x7f, 1, context.stream);
      },
      row_status::kFailed, "nan", kLarge);
}

// Zeros in the last row of the last plane; the rest is correct.
TEST_F(Cheats, LeavingOutAnEdge) {
  expect_caught(
      [](Victim& victim, const ConvArgs& args, RunContext& context) {
        work(victim, args, context);
        const auto row = static_cast<size_t>(victim.problem.q());
        float* last_row = args.y + victim.output_bytes() / sizeof(float) - row;
        fill_bytes(last_row, context.stream.device(), 0, (row - 1) * sizeof(float), context.stream);
      },
      row_status::kFailed, "differ", kLarge);
}

// Within the bound of the backend's worst choice, outside the bound of its actual choice.
TEST_F(Cheats, HidingBehindTheBoundOfAnotherChoice) {
  expect_caught(
      [](Victim& victim, const ConvArgs& args, RunContext& context) {
        work(victim, args, context);
        fill_bytes(args.y, context.stream.device(), 0, sizeof(float), context.stream);
      },
      row_status::kFailed, "differ");
}

TEST_F(Cheats, FailingToLaunch) { expect_caught(fail_to_launch, row_status::kError, "launch"); }

/// Copies its input in, but does not copy its output back to the host.
class ForgetfulCandidate : public Candidate {
 public:
  ForgetfulCandidate(Device device, bool forgetful)
      : forgetful_(forgetful),
        device_(device),
        x_(device, kBytes),
        y_(device, kBytes),
        host_x_(device, kBytes),
        host_y_(device, kBytes) {}
  std::string name() const override { return "copy"; }
  void load(int round, Stream& stream) override {
    for (size_t i = 0; i < kCount; ++i) static_cast<float*>(host_x_.data())[i] = value(round, i);
    copy_in(stream);
    stream.synchronise();
  }
  void run(Stream& stream) override { copy_bytes(y_.data(), device_, x_.data(), device_, kBytes, stream); }
  float* output() override { return y_.as<float>(); }
  size_t output_count() const override { return kCount; }
  Verdict judge(int round, const std::vector<float>& output) override {
    Verdict verdict;
    verdict.passed = true;
    for (size_t i = 0; i < kCount; ++i) verdict.passed = verdict.passed && output[i] == value(round, i);
    if (!verdict.passed) verdict.reason = "differs from its input";
    return verdict;
  }
  bool end_to_end() const override { return true; }
  void copy_in(Stream& stream) override {
    copy_bytes(x_.data(), device_, host_x_.data(), Device::cpu(), kBytes, stream);
  }
  void copy_out(Stream& stream) override {
    copy_bytes(host_y_.data(), Device::cpu(), y_.data(), device_, forgetful_ ? kBytes / 2 : kBytes, stream);
  }
  float* host_output() override { return static_cast<float*>(host_y_.data()); }

 private:
  static constexpr size_t kCount = 4096, kBytes = kCount * sizeof(float);
  static float value(int round, size_t i) {
    return static_cast<float>(i) + 0.25f * static_cast<float>(round);
  }
  bool forgetful_;
  Device device_;
  Buffer x_, y_;
  PinnedBuffer host_x_, host_y_;
};

TEST_F(Cheats, LeavingResultsOnTheDevice) {
  Stream stream(kDevice);
  ForgetfulCandidate honest(kDevice, false), forgetful(kDevice, true);
  MeasureOptions options = options_.measure;
  options.end_to_end = true;
  const std::vector<Measurement> measured = measure({&honest, &forgetful}, stream, options);
  EXPECT_EQ(measured[0].status, row_status::kPassed) << measured[0].reason;
  EXPECT_GT(measured[0].end_to_end.samples, 0u);
  EXPECT_EQ(measured[1].status, row_status::kFailed);
  EXPECT_NE(measured[1].reason.find("from host to host: skipped work"), std::string::npos)
      << measured[1].reason;
  EXPECT_EQ(measured[1].end_to_end.samples, 0u) << "a cheat has a time";
}

/// Honest, but once its batches are captured, each run that is not a replay keeps the host longer than a stream is
/// held back.
class SlowOnceCaptured : public ForgetfulCandidate {
 public:
  explicit SlowOnceCaptured(Device device) : ForgetfulCandidate(device, false) {}
  void run(Stream& stream) override {
    ForgetfulCandidate::run(stream);
    if (is_captured(stream)) {
      captured_ = true;
    } else if (captured_) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));
    }
  }

 private:
  bool captured_ = false;
};

// The cold windows fail and discard the graph, whose replays have been timed before.
TEST_F(Cheats, ReplaysStayReplaysIfALaterWindowFails) {
  if (!kDevice.is_cuda()) GTEST_SKIP() << "the CPU replays no graphs";
  Stream stream(kDevice);
  SlowOnceCaptured slow(kDevice);
  MeasureOptions options = options_.measure;
  options.min_samples = 1;
  const Measurement measured = measure({&slow}, stream, options).at(0);
  EXPECT_EQ(measured.status, row_status::kPassed) << measured.reason;
  EXPECT_GT(measured.hot.samples, 0u);
  EXPECT_TRUE(measured.replayed);
  EXPECT_NE(measured.note.find("a host too slow"), std::string::npos) << measured.note;
}

/// A call that writes its answers to ordinary memory by itself.
class CallingCandidate : public Candidate {
 public:
  enum class Way { kHonest, kIdle, kCached, kLate };
  explicit CallingCandidate(Way way) : way_(way) {}
  ~CallingCandidate() override {
    if (late_.joinable()) late_.join();
  }
  std::string name() const override { return "call"; }
  bool is_call() const override { return true; }
  void load(int round, Stream&) override { round_ = round; }
  void run(Stream&) override {
    ++calls_;
    if (way_ == Way::kIdle && calls_ > 6) return;
    if (way_ == Way::kCached && calls_ > 6) {
      answers_ = first_;
      return;
    }
    if (way_ == Way::kLate) {
      if (late_.joinable()) late_.join();
      late_ = std::thread([this] {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        answer();
      });
      return;
    }
    answer();
    if (calls_ == 1) first_ = answers_;
  }
  float* output() override { return answers_.data(); }
  size_t output_count() const override { return answers_.size(); }
  Verdict judge(int round, const std::vector<float>& output) override {
    Verdict verdict;
    verdict.passed = true;
    for (size_t i = 0; i < output.size(); ++i)
      verdict.passed = verdict.passed && output[i] == value(round, i);
    if (!verdict.passed) verdict.reason = "wrong answers";
    return verdict;
  }

 private:
  static float value(int round, size_t i) {
    return static_cast<float>(i) + 0.25f * static_cast<float>(round);
  }
  void answer() {
    for (size_t i = 0; i < answers_.size(); ++i) answers_[i] = value(round_, i);
  }
  Way way_;
  int round_ = 0, calls_ = 0;
  std::vector<float> answers_ = std::vector<float>(4096), first_;
  std::thread late_;
};

// Beside a candidate of the device; the memory of a call is the host's, also where the device is a GPU.
TEST_F(Cheats, CallsAreVerifiedInHostMemory) {
  Stream stream(kDevice);
  using Way = CallingCandidate::Way;
  ForgetfulCandidate pass(kDevice, false);
  CallingCandidate honest(Way::kHonest), idle(Way::kIdle), cached(Way::kCached), late(Way::kLate);
  MeasureOptions options = options_.measure;
  options.cold = true;
  const std::vector<Measurement> measured = measure({&honest, &pass, &idle, &cached, &late}, stream, options);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(measured[i].status, row_status::kPassed) << measured[i].reason;
    EXPECT_GT(measured[i].hot.samples, 0u);
    EXPECT_GT(measured[i].cold.samples, 0u);
  }
  EXPECT_FALSE(measured[0].replayed);
  EXPECT_GT(measured[0].hot.median, 100) << "4,096 answers in less than 100 ns";
  const char* const words[] = {"skipped work", "cached output|wrong", "used another thread"};
  for (size_t i = 0; i < 3; ++i) {
    const Measurement& cheat = measured[i + 2];
    EXPECT_EQ(cheat.status, row_status::kFailed) << i;
    const std::string all = words[i];
    const std::string first = all.substr(0, all.find('|')), second = all.substr(all.find('|') + 1);
    EXPECT_TRUE(cheat.reason.find(first) != std::string::npos ||
                cheat.reason.find(second) != std::string::npos)
        << cheat.reason;
    EXPECT_EQ(cheat.hot.samples, 0u) << "a cheat has a time";
  }
}

// Timed replays run exactly what the candidate enqueued while it was captured, so skipped work is detected there too.
TEST_F(Cheats, ShortRunsOnTheGpuAreReplayed) {
  if (!kDevice.is_cuda()) GTEST_SKIP() << "the CPU has no graphs to replay";
  for (const ResultRow& row : rows_of(work)) EXPECT_EQ(row.replayed, row.cache == "hot") << row.cache;
}

}  // namespace
}  // namespace lenslet
