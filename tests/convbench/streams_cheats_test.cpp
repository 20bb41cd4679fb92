// Batches in parts on several streams: a cheat on one stream removes the time of every row that uses it, and of no
// other row.
#include <gtest/gtest.h>

#include <algorithm>

#include "apps/convbench/streams/streams_bench.h"
#include "framework/measuring/row_status.h"
#include "tests/convbench/cheating_backend.h"
#include "tests/support/sanitizers.h"

namespace lenslet {
namespace {

constexpr int kParts = 6, kStreams = 3;
// Calls of the first stream's kernel before it is timed: four when that stream is checked, then those of one pass for
// each row. Another stream's kernel has had as many before the last turns.
constexpr int kMaxCallsBeforeTiming = 4 + kParts + kParts / kStreams;

class StreamCheats : public testing::Test {
 protected:
  void SetUp() override {
    if (kDevice.is_cuda()) LENSLET_SKIP_WITHOUT_GPU();
    options_.device = kDevice.is_cuda() ? "cuda" : "cpu";
    options_.measure.warmup_ms = options_.measure.min_time_ms = 0;  // one pass a turn, on a fast machine too
  }

  /// Rows for one stream and for three streams.
  std::vector<ResultRow> rows_of(const Cheat& cheat) { return rows_of(CheatingBackend(cheat)); }

  std::vector<ResultRow> rows_of(const ConvBackend& backend) {
    BenchSession session(options_, "streams");
    StreamsRequest request;
    request.backend = "cheat";
    request.open = [&]() -> const ConvBackend& { return backend; };
    request.part = Conv2dProblem::parse("mb2ic3ih48oc3kh3ph1");
    request.parts = kParts;
    request.streams = {1, kStreams};
    request.base = [](int streams) {
      ResultRow row;
      row.name = std::to_string(streams);
      return row;
    };
    return bench_streams(request, session);
  }

  static void expect_passed(const ResultRow& row) {
    EXPECT_EQ(row.status, row_status::kPassed) << row.reason;
    EXPECT_GT(row.time.median, 0);
    EXPECT_EQ(row.stages_ns.size(), 3u);
    ASSERT_TRUE(row.error);
    EXPECT_GT(row.error->checked, 0);
    EXPECT_LE(row.error->max_abs, row.error->bound);
  }
  /// `by_name`: the reason must contain one of these.
  static void expect_caught(const ResultRow& row, const std::string& status,
                            const std::vector<std::string>& by_name) {
    EXPECT_EQ(row.status, status) << row.reason;
    EXPECT_TRUE(std::any_of(by_name.begin(), by_name.end(), [&](const std::string& name) {
      return row.reason.find(name) != std::string::npos;
    })) << row.reason;
    EXPECT_EQ(row.time.samples, 0u) << "a cheat has a time";
  }
  /// For a cheat on every stream both rows fail; for one on the third stream only the row that uses it.
  void expect_caught(const Cheat& cheat, const std::string& status, const std::vector<std::string>& by_name) {
    for (const ResultRow& row : rows_of(cheat)) expect_caught(row, status, by_name);
    const std::vector<ResultRow> rows =
        rows_of([&](Victim& victim, const ConvArgs& args, RunContext& context) {
          (victim.number == 2 ? cheat : Cheat(work))(victim, args, context);
        });
    expect_passed(rows[0]);
    expect_caught(rows[1], status, by_name);
  }

  BenchOptions options_;
};

TEST_F(StreamCheats, HonestOnesPass) {
  for (const ResultRow& row : rows_of(work)) expect_passed(row);
}

TEST_F(StreamCheats, SkippingAllWork) { expect_caught(skip, row_status::kFailed, {"skipped work"}); }

TEST_F(StreamCheats, SkippingWorkOnceItIsTimed) {
  // The reason depends on whether a check or the clock detects it first.
  expect_caught(after(kMaxCallsBeforeTiming, skip), row_status::kFailed,
                {"skipped work", "while it was timed"});
}

TEST_F(StreamCheats, ReturningACachedOutput) {
  expect_caught(return_cached, row_status::kFailed, {"differ"});
}

TEST_F(StreamCheats, GoingWrongAfterSomeCalls) {
  expect_caught(after(kMaxCallsBeforeTiming, spoil), row_status::kFailed, {"wrong after "});
}

TEST_F(StreamCheats, WritingOutsideItsOutput) {
  expect_caught(write_past, row_status::kFailed, {"wrote past the end of block 1"});
}

// Cheats only while it is timed, so that the check of each stream before cannot detect it.
TEST_F(StreamCheats, WritingOutsideItsOutputOnceItIsTimed) {
  expect_caught(after(kMaxCallsBeforeTiming, write_past), row_status::kFailed,
                {"wrote past the end of block 1"});
}

TEST_F(StreamCheats, WorkingElsewhere) {
  if (test::kThreadSanitizer) GTEST_SKIP() << "ThreadSanitizer reports the race that this cheat is";
  for (const ResultRow& row : rows_of(work_elsewhere))
    // On a busy machine the other thread may still work when the result with bias and ReLU is verified.
    expect_caught(row, row_status::kFailed,
                  {concat("stream 0: ", kElsewhere),
                   concat("stream 0: with bias, ReLU for mb2ic3ih48oc3oh48kh3ph1: ", kElsewhere)});
}

TEST_F(StreamCheats, DroppingTheBias) {
  for (const ResultRow& row : rows_of(ForgetfulBackend([](ConvPrepare& request) { request.bias = nullptr; })))
    expect_caught(row, row_status::kFailed, {"stream 0: with bias, ReLU for "});
}

TEST_F(StreamCheats, FailingToLaunch) { expect_caught(fail_to_launch, row_status::kError, {"launch"}); }

}  // namespace
}  // namespace lenslet
