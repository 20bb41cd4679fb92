// The studies' tables fit the width. They are printed from the kept files, so that tables of GPU rows are tested too.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <map>
#include <sstream>

#include "apps/common/results/result_reader.h"
#include "apps/convbench/commands/tables.h"
#include "tests/support/files.h"

namespace lenslet {
namespace {

namespace fs = std::filesystem;
using Rows = std::vector<ResultRow>;
using Print = std::function<void(Console&, const Rows&)>;

/// The rows of a GPU's file whose label `table` is one of `tables`, in groups with the same text of `group`.
std::vector<Rows> groups_of(const Rows& rows, const std::vector<std::string>& tables,
                            const std::function<std::string(const ResultRow&)>& group) {
  std::vector<Rows> groups;
  for (const ResultRow& row : rows) {
    if (std::find(tables.begin(), tables.end(), row.label("table")) == tables.end()) continue;
    if (groups.empty() || group(groups.back().front()) != group(row)) groups.emplace_back();
    groups.back().push_back(row);
  }
  return groups;
}

/// Files of docs/results that a GPU filled, with rows.
std::vector<ReadResults> gpu_files() {
  std::vector<ReadResults> files;
  for (const auto& entry : fs::recursive_directory_iterator(LENSLET_SOURCE_DIR "/docs/results")) {
    if (entry.path().extension() != ".json") continue;
    const std::string path = entry.path().string();
    if (path.find("-cpu/") != std::string::npos) continue;
    if (test::read_text(path).find("\"lenslet.results/1\"") != std::string::npos)
      files.push_back(read_results(path));
  }
  return files;
}

std::string printed(const Print& print, const Rows& rows, int width) {
  ::setenv("COLUMNS", std::to_string(width).c_str(), 1);
  Console console({});
  ::unsetenv("COLUMNS");
  testing::internal::CaptureStdout();
  print(console, rows);
  return testing::internal::GetCapturedStdout();
}

// Characters: bytes that do not continue a UTF-8 sequence.
long width_of(const std::string& line) {
  return std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

struct StudyTable {
  const char* name;
  std::vector<std::string> tables;
  std::function<std::string(const ResultRow&)> group;
  Print print;
};

std::vector<StudyTable> study_tables() {
  constexpr double kCopyBytesPerS = 3e12;
  const auto all = [](const ResultRow&) { return std::string(); };
  const auto by_name = [](const ResultRow& row) { return row.name; };
  const auto by_problem = [](const ResultRow& row) { return row.problem; };
  return {{"sweep", {"rgb"}, all, print_sweep},
          {"ladder", {"ladder"}, by_problem, print_climb},
          {"gemm", {"gemm_memory", "gemm_partition"}, all, print_gemm_study},
          {"filter", {"filter"}, by_problem, print_filter},
          {"streams", {"streams"}, all, print_streams},
          {"separable",
           {"separable"},
           all,
           [](Console& console, const Rows& rows) { print_separable(console, rows, "cudnn"); }},
          {"stencil",
           {"stencil"},
           by_name,
           [](Console& console, const Rows& rows) { print_stencil(console, rows, kCopyBytesPerS); }},
          {"reproduce",
           {"rgb", "gemm_memory", "gemm_partition", "ladder", "filter"},
           [](const ResultRow& row) { return row.study; },
           print_published}};
}

TEST(StudyTables, FitTheWidth) {
  std::map<std::string, int> printed_tables;
  for (const ReadResults& file : gpu_files()) {
    for (const StudyTable& table : study_tables()) {
      for (const Rows& rows : groups_of(file.rows, table.tables, table.group)) {
        for (const int width : {100, 80}) {
          const std::string text = printed(table.print, rows, width);
          if (text.find("---") != std::string::npos) ++printed_tables[table.name];
          std::istringstream lines(text);
          for (std::string line; std::getline(lines, line);) {
            ASSERT_LE(width_of(line), width) << table.name << " of " << file.path << "\n" << text;
          }
        }
      }
    }
  }
  for (const StudyTable& table : study_tables())
    EXPECT_GT(printed_tables[table.name], 0) << "no kept file of a GPU has rows of " << table.name;
}

}  // namespace
}  // namespace lenslet
