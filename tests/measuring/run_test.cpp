// Run: how a measuring command ends, and what its files then contain; RowTable.
#include "apps/common/program/run.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/common/results/row_table.h"
#include "framework/measuring/row_status.h"

namespace lenslet {
namespace {

using nlohmann::json;

ResultRow row_of(const std::string& backend, const std::string& status, double median_ns = 0) {
  ResultRow row;
  row.backend = backend;
  row.status = status;
  row.reason = status == row_status::kPassed ? "" : "the reason";
  if (median_ns > 0) row.time = {1, median_ns, median_ns, median_ns, median_ns, median_ns};
  return row;
}

class RunTest : public testing::Test {
 protected:
  RunTest()
      : folder_(std::filesystem::path(testing::TempDir()) / ("run_test_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder_);
    options_.json = folder_ / "run.json";
  }
  ~RunTest() override { std::filesystem::remove_all(folder_); }

  /// The exit code of finish(), returned or thrown.
  ExitCode end_of(const std::vector<ResultRow>& rows, const std::function<void(lenslet::Run&)>& before = {}) {
    lenslet::Run run("test", options_);
    run.add(rows);
    if (before) before(run);
    try {
      return run.finish();
    } catch (const Error& error) {
      return error.exit_code();
    }
  }
  json document() const {
    std::ifstream file(options_.json);
    return json::parse(file);
  }

  std::filesystem::path folder_;
  OutputOptions options_;
};

TEST_F(RunTest, EndsWithTheWorstStatus) {
  const ResultRow passed = row_of("a", row_status::kPassed, 1e3), failed = row_of("b", row_status::kFailed),
                  error = row_of("c", row_status::kError), suspect = row_of("d", row_status::kSuspect, 1e3);
  EXPECT_EQ(end_of({passed, suspect}), ExitCode::kOk);
  EXPECT_EQ(end_of({passed, error, failed}), ExitCode::kCheckFailed);
  EXPECT_EQ(end_of({passed, error}), ExitCode::kDevice);
  EXPECT_EQ(document()["status"], "COMPLETE") << "the files are whole all the same";
  EXPECT_EQ(document()["results"].size(), 2u);
  options_.strict = true;
  EXPECT_EQ(end_of({passed}), ExitCode::kOk);
  EXPECT_EQ(end_of({passed, suspect}), ExitCode::kCheckFailed);
}

TEST_F(RunTest, ARefusalCountsUnlessTheBackendPassedElsewhere) {
  const auto refuse = [](const char* what) {
    return [what](lenslet::Run& run) { run.refuse(what, ExitCode::kMemory, "no memory"); };
  };
  const ResultRow unsupported = row_of("b", row_status::kUnsupported),
                  passed = row_of("a", row_status::kPassed, 1e3);
  EXPECT_EQ(end_of({passed, unsupported}, refuse("")), ExitCode::kOk) << "another backend passed";
  EXPECT_EQ(end_of({passed, unsupported}, refuse("a")), ExitCode::kOk) << "it passed elsewhere";
  EXPECT_EQ(end_of({passed, unsupported}, refuse("b")), ExitCode::kMemory);
  EXPECT_EQ(end_of({unsupported}, refuse("")), ExitCode::kMemory);
}

TEST_F(RunTest, FilesAreCompleteOnlyAtTheEnd) {
  lenslet::Run run("test", options_);
  run.add({row_of("a", row_status::kPassed, 1e3)});
  EXPECT_EQ(document()["status"], "INTERRUPTED");
  run.guard([] { throw DeviceError("the GPU is gone"); });
  EXPECT_THROW(run.finish(), DeviceError);
  EXPECT_EQ(document()["status"], "ERROR");
  EXPECT_EQ(document()["reason"], "the GPU is gone");
  EXPECT_EQ(document()["results"].size(), 1u);
}

TEST_F(RunTest, AUsageErrorBeforeMeasuringKeepsTheEarlierFile) {
  EXPECT_EQ(end_of({row_of("a", row_status::kPassed, 1e3)}), ExitCode::kOk);
  lenslet::Run run("test", options_);
  EXPECT_THROW(run.complete([] { throw UsageError("no such backend"); }), UsageError);
  EXPECT_EQ(document()["status"], "COMPLETE");
}

TEST(RowTable, ListsTitlesWithTheirCells) {
  RowTable table;
  table.words("backend", &ResultRow::backend).number("us", median_ns, [](double) {
    return std::string("1");
  });
  const std::vector<ResultRow> rows = {row_of("a", row_status::kPassed, 1e3),
                                       row_of("bb", row_status::kFailed), row_of("bb", row_status::kFailed)};
  const std::string text = table.reason().of(rows, &ResultRow::backend).to_string();
  EXPECT_EQ(text.find("backend"), 0u);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 + 3 + 1 + 1)
      << text;  // heading, rows, a line between groups, a note
  EXPECT_NE(text.find("\n  1  the reason\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace lenslet
