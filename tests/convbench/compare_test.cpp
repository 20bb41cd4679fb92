// Comparing result files: verdicts follow from intervals; rows without an interval get none.
#include "apps/convbench/commands/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "framework/measuring/row_status.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"

namespace lenslet {
namespace {

constexpr double kThreshold = 0.03;

/// `median`, with a spread of that many percent on both sides between the 10th and the 90th percentile.
ResultRow timed(double median, double spread_percent, size_t samples, const std::string& backend = "direct") {
  ResultRow row;
  row.problem = "mb1ic3ih16oc1oh16kh3ph1";
  row.backend = backend;
  row.math = "fp32";
  row.cache = "hot";
  const double spread = median * spread_percent / 100;
  row.time = {samples, median - 2 * spread, median - spread, median, median + spread, median + 3 * spread};
  return row;
}

Change change(const ResultRow& before, const ResultRow& after) {
  return compare_times(before, after, kThreshold).change;
}

TEST(Compare, MediansFromEqualSamplesHaveNoWidth) {
  const Interval interval = median_interval(timed(1000, 0, 100).time);
  EXPECT_EQ(interval.low, 1000);
  EXPECT_EQ(interval.high, 1000);
}

TEST(Compare, IntervalIsThatOfTheOrderStatistics) {
  // 100 samples: ranks 50 -+ 13.4. Interpolated, that is a third of the way from the median to the 10th percentile.
  const Interval many = median_interval(timed(1000, 10, 100).time);
  EXPECT_NEAR(many.low, 1000 - 100 * 0.1338 / 0.4, 1e-9);
  EXPECT_NEAR(many.high, 1000 + 100 * 0.1338 / 0.4, 1e-9);
  // 6 samples: from the smallest to the largest, which contain the median in 96.9 of 100 runs.
  const Interval few = median_interval(timed(1000, 10, 6).time);
  EXPECT_LT(few.low, 1000 - 100);
  EXPECT_GT(few.high, 1000 + 100);
  EXPECT_TRUE(std::isnan(median_interval(timed(1000, 10, 5).time).low));
}

// Checks the statistical statement behind the verdicts, on skewed samples like times and on symmetric ones.
TEST(Compare, IntervalHoldsTheMedianAsOftenAsItsLevel) {
  std::mt19937 random(7);
  std::lognormal_distribution<double> skewed(0, 1);
  std::uniform_real_distribution<double> even(0, 2);
  for (const bool is_skewed : {true, false}) {
    for (const size_t n : {6u, 9u, 20u, 100u, 1000u}) {
      int held = 0;
      constexpr int kRuns = 2000;
      for (int run = 0; run < kRuns; ++run) {
        std::vector<double> samples(n);
        for (double& sample : samples) sample = 100 + (is_skewed ? skewed(random) : even(random));
        const Interval interval = median_interval(summarise(samples));
        held += interval.low <= 101 && 101 <= interval.high;
      }
      EXPECT_GE(held, 0.95 * kRuns) << n << " samples, skewed: " << is_skewed;
    }
  }
}

// What the column states, for pairs of equally uncertain medians and of one that is nearly exact.
TEST(Compare, TheIntervalOfARatioHoldsItInAtLeast95Of100) {
  std::mt19937 random(11);
  std::lognormal_distribution<double> skewed(0, 1);
  std::uniform_real_distribution<double> even(0.99, 1.01);
  for (const bool alike : {true, false}) {
    for (const size_t n : {6u, 20u, 100u}) {
      int held = 0;
      constexpr int kRuns = 1000;
      for (int run = 0; run < kRuns; ++run) {
        std::vector<double> before(n), after(n);
        for (double& sample : before) sample = 100 + skewed(random);
        for (double& sample : after) sample = 100 + (alike ? skewed(random) : even(random));
        ResultRow a = timed(101, 0, n), b = a;
        a.time = summarise(before);
        b.time = summarise(after);
        const Interval interval = compare_times(a, b, kThreshold).ratio_interval;
        held += interval.low <= 1 && 1 <= interval.high;
      }
      EXPECT_GE(held, (alike ? 0.99 : 0.95) * kRuns) << n << " samples, alike: " << alike;
    }
  }
}

TEST(Compare, VerdictFollowsFromTheIntervalOfTheRatio) {
  EXPECT_EQ(change(timed(1000, 1, 100), timed(1000, 1, 100)), Change::kSame);
  EXPECT_EQ(change(timed(1000, 1, 100), timed(1020, 1, 100)), Change::kSame) << "within the threshold";
  EXPECT_EQ(change(timed(1000, 1, 100), timed(1100, 1, 100)), Change::kSlower);
  EXPECT_EQ(change(timed(1000, 1, 100), timed(900, 1, 100)), Change::kFaster);
  EXPECT_EQ(change(timed(1000, 1, 100), timed(1030, 1, 100)), Change::kUnclear) << "at the threshold";
  EXPECT_EQ(change(timed(1000, 30, 20), timed(1100, 30, 20)), Change::kUnclear) << "far apart but wide";
  EXPECT_EQ(change(timed(1000, 30, 20), timed(1000, 30, 20)), Change::kUnclear) << "equal but wide";
  EXPECT_EQ(change(timed(1000, 30, 20), timed(3000, 30, 20)), Change::kSlower) << "wide, yet apart";
  EXPECT_EQ(change(timed(1000, 0, 3), timed(2000, 0, 3)), Change::kUnclear) << "too few samples";
  EXPECT_EQ(change(timed(0, 0, 100), timed(1000, 0, 100)), Change::kUnclear) << "below the clock";
  EXPECT_EQ(compare_times(timed(1000, 1, 100), timed(1100, 1, 100), 0.2).change, Change::kSame);
}

TEST(Compare, SwappingTheFilesSwapsTheVerdict) {
  for (const double spread : {0.0, 0.5}) {
    // 0.9705 is between 1 - 0.03 and 1 / 1.03.
    for (const double factor : {0.5, 0.9, 0.96, 0.9705, 0.98, 1.0, 1.02, 1.0299, 1.0304, 1.04, 1.1, 2.0}) {
      const ResultRow a = timed(1000, spread, 200), b = timed(1000 * factor, spread, 200);
      const Change there = change(a, b), back = change(b, a);
      const Change expected = there == Change::kFaster   ? Change::kSlower
                              : there == Change::kSlower ? Change::kFaster
                                                         : there;
      EXPECT_EQ(back, expected) << factor << " with a spread of " << spread << " %";
      if (spread == 0) {
        EXPECT_EQ(there, factor < 1 / 1.03 ? Change::kFaster
                         : factor > 1.03   ? Change::kSlower
                                           : Change::kSame)
            << factor;
      }
    }
  }
}

ReadResults file_of(std::vector<ResultRow> rows) {
  ReadResults file;
  file.path = "file.json";
  file.environment = this_environment("convbench run", false);
  file.environment.dirty = false;
  file.status = document_status::kComplete;
  file.rows = std::move(rows);
  return file;
}

TEST(Compare, PairsRowsByWhatTheyMeasure) {
  ResultRow failed = timed(1000, 1, 100, "winograd");
  failed.status = row_status::kFailed;
  failed.reason = "wrong at 3";
  ResultRow untimed = timed(1000, 1, 100, "im2col_gemm");
  untimed.time = {};
  const ReadResults before = file_of({timed(1000, 1, 100, "gone"), timed(1000, 1, 100, "direct"),
                                      timed(1000, 1, 100, "winograd"), timed(1000, 1, 100, "im2col_gemm")});
  const ReadResults after =
      file_of({timed(1000, 1, 100, "new"), failed, untimed, timed(2000, 1, 100, "direct")});
  const Comparison comparison = compare_results(before, after, kThreshold);
  ASSERT_EQ(comparison.rows.size(), 1u);
  EXPECT_EQ(comparison.rows[0].change, Change::kSlower);
  EXPECT_NEAR(comparison.rows[0].ratio, 2, 1e-9);
  ASSERT_EQ(comparison.uncompared.size(), 4u);
  EXPECT_EQ(comparison.uncompared[0].reason, "only in the new file");
  EXPECT_EQ(comparison.uncompared[1].reason, "FAILED in the new file (wrong at 3)");
  EXPECT_EQ(comparison.uncompared[2].reason, "no time in the new file");
  EXPECT_EQ(comparison.uncompared[3].reason, "only in the old file");
  EXPECT_EQ(comparison.broken(), 1u);
  EXPECT_TRUE(comparison.warnings.empty());
}

TEST(Compare, StatesAReasonOfBothFilesOnce) {
  ResultRow refused = timed(1000, 1, 100, "winograd");
  refused.status = row_status::kUnsupported;
  refused.reason = "stride 2";
  ResultRow other = refused;
  const auto reason = [&] {
    return compare_results(file_of({refused}), file_of({other}), kThreshold).uncompared.at(0).reason;
  };
  EXPECT_EQ(reason(), "UNSUPPORTED in both files (stride 2)");
  other.reason = "stride 3";
  EXPECT_EQ(reason(), "UNSUPPORTED in the old file (stride 2); UNSUPPORTED in the new file (stride 3)");
}

TEST(Compare, RowsThatShareAKeyArePairedInTheirOrder) {
  const ReadResults before = file_of({timed(1000, 1, 100), timed(5000, 1, 100)});
  const Comparison comparison = compare_results(before, before, kThreshold);
  EXPECT_EQ(comparison.count(Change::kSame), 2u);
  EXPECT_TRUE(comparison.uncompared.empty());
}

TEST(Compare, TakesTimeInProportionToRowsThatShareAKey) {
  const auto seconds = [](size_t rows) {
    const ReadResults file = file_of(std::vector<ResultRow>(rows, timed(1000, 1, 100)));
    const std::clock_t start = std::clock();
    EXPECT_EQ(compare_results(file, file, kThreshold).count(Change::kSame), rows);
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  seconds(100);
  constexpr double kMaxRatio = 20;
  double ratio = INFINITY;  // the smallest of ten, because other processes lengthen some runs
  for (int i = 0; i < 10 && ratio >= kMaxRatio; ++i) ratio = std::min(ratio, seconds(8000) / seconds(1000));
  EXPECT_LT(ratio, kMaxRatio) << "8 times the rows; with the square of them it would be 64 times";
}

TEST(Compare, ReportsWhatElseDiffers) {
  ReadResults before = file_of({}), after = file_of({});
  before.environment.devices.emplace_back().name = "NVIDIA H200";
  after.environment.devices.emplace_back().name = "NVIDIA H100";
  before.environment.libs = {{"cuDNN", "9.14.0", "/a"}};
  after.environment.libs = {{"cuDNN", "9.19.0", "/b"}};
  after.environment.dirty = true;
  after.status = document_status::kInterrupted;
  std::string all;
  for (const std::string& warning : compare_results(before, after, kThreshold).warnings)
    all += warning + "\n";
  for (const char* expected :
       {"DIFFERENT DEVICES: NVIDIA H200 and NVIDIA H100", "another cuDNN: 9.14.0 and 9.19.0",
        "the new file is of a modified tree", "the new file is not complete: INTERRUPTED"})
    EXPECT_NE(all.find(expected), std::string::npos) << expected << " not in\n" << all;
}

class CompareCommand : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::vector<ResultRow>& rows) {
    ResultFile file;
    file.tool = "convbench run";
    file.rows = rows;
    paths_.push_back(test::temporary_file("lenslet-compare-" + name, file.to_json()));
    return paths_.back();
  }
  void TearDown() override {
    for (const std::string& path : paths_) std::remove(path.c_str());
  }
  std::vector<std::string> paths_;
};

TEST_F(CompareCommand, StrictTurnsSlowerIntoAFailedCheck) {
  CompareOptions options;
  const std::string before = write("old.json", {timed(1000, 1, 100)});
  options.files = {before, write("slower.json", {timed(1500, 1, 100)})};
  EXPECT_EQ(run_compare(options), ExitCode::kOk);
  options.strict = true;
  EXPECT_EQ(run_compare(options), ExitCode::kCheckFailed);
  options.threshold_percent = 60;
  EXPECT_EQ(run_compare(options), ExitCode::kOk);
  options.threshold_percent = 3;
  options.files = {before, write("same.json", {timed(1001, 1, 100)})};
  EXPECT_EQ(run_compare(options), ExitCode::kOk);
  ResultRow failed = timed(1000, 1, 100);
  failed.status = row_status::kFailed;
  failed.reason = "wrong";
  options.files = {before, write("failed.json", {failed, timed(1000, 1, 100, "other")})};
  expect_error<CheckError>([&] { run_compare(options); }, "of the 1 row in common none passed");
  options.files = {write("two.json", {timed(1000, 1, 100), timed(1000, 1, 100, "other")}), options.files[1]};
  EXPECT_EQ(run_compare(options), ExitCode::kCheckFailed);
}

TEST_F(CompareCommand, NothingInCommonIsReportedAndWithStrictAFailedCheck) {
  CompareOptions options;
  options.files = {write("old.json", {timed(1000, 1, 100)}),
                   write("new.json", {timed(1000, 1, 100, "other")})};
  options.json = write("out.json", {});
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_compare(options), ExitCode::kOk);
  EXPECT_NE(
      testing::internal::GetCapturedStdout().find("NOTHING WAS COMPARED: the files have no row in common"),
      std::string::npos);
  options.strict = true;
  expect_error<CheckError>([&] { run_compare(options); }, "no row in common");
  EXPECT_EQ(nlohmann::json::parse(test::read_text(options.json))["counts"]["not_compared"], 2)
      << "the file is written all the same";
}

TEST_F(CompareCommand, JsonHasTheValuesOfTheTable) {
  CompareOptions options;
  options.files = {write("old.json", {timed(1000, 1, 100), timed(1000, 1, 100, "gone")}),
                   write("new.json", {timed(500, 1, 100)})};
  options.json = write("out.json", {});
  EXPECT_EQ(run_compare(options), ExitCode::kOk);
  const nlohmann::json root = nlohmann::json::parse(test::read_text(options.json));
  EXPECT_EQ(root["schema"], "lenslet.compare/1");
  EXPECT_EQ(root["counts"]["FASTER"], 1);
  EXPECT_EQ(root["counts"]["not_compared"], 1);
  EXPECT_EQ(root["rows"][0]["change"], "FASTER");
  EXPECT_EQ(root["rows"][0]["ratio"], 0.5);
  EXPECT_EQ(root["not_compared"][0]["backend"], "gone");
  EXPECT_EQ(root["not_compared"][0]["in_new"], false);
}

// No text of a file controls a terminal or adds lines to the output.
TEST_F(CompareCommand, ShowsForeignTextWithoutItsEscapes) {
  const std::string foreign = "\x1b[2Jx\nold: forged\xc2\x9b\xe2\x80\xae" + std::string(100'000, 'y');
  ResultRow row = timed(1000, 1, 100, foreign);
  row.name = row.problem = row.math = row.layout = row.cache = row.study = foreign;
  row.labels = {{foreign, foreign}};
  ResultRow failed = row;
  failed.name = "other";
  failed.status = row_status::kFailed;
  failed.reason = foreign;
  CompareOptions options;
  for (const char* name : {"old.json", "new.json"}) {
    const std::string path = write(name, {row, failed});
    nlohmann::ordered_json root = nlohmann::ordered_json::parse(test::read_text(path));
    root["tool"] = root["meta"]["git"] = root["meta"]["time_utc"] = foreign;
    root["status"] = "ERROR";
    root["reason"] = root["meta"]["build_type"] = foreign + name;
    root["devices"] = {{{"name", foreign + name}}};
    root["libs"] = {{{"name", foreign}, {"version", foreign + name}, {"path", ""}}};
    std::ofstream(path) << root.dump();
    options.files.push_back(path);
  }
  options.json = "-";
  ::setenv("COLUMNS", "1000", 1);  // no line is wrapped
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(run_compare(options), ExitCode::kOk);
  ::unsetenv("COLUMNS");
  const std::string json = testing::internal::GetCapturedStdout();
  const std::string table = testing::internal::GetCapturedStderr();
  for (const std::string& text : {json, table}) {
    for (const char* unseen : {"\x1b", "\xc2\x9b", "\xe2\x80\xae"})
      EXPECT_EQ(text.find(unseen), std::string::npos);
  }
  EXPECT_NE(table.find("\\x1b[2Jx\\nold: forged\\xc2\\x9b\\xe2\\x80\\xae"), std::string::npos);
  EXPECT_EQ(table.find("\nold: forged"), std::string::npos);
  EXPECT_LT(table.size(), 50'000u);
}

TEST_F(CompareCommand, NothingToCompareIsAnError) {
  CompareOptions options;
  const std::string empty = write("empty.json", {});
  options.files = {empty, empty};
  expect_error<DataError>([&] { run_compare(options); }, "nothing to compare");
}

}  // namespace
}  // namespace lenslet
