// Result files as JSON and CSV.
#include "apps/common/results/result_file.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/common/output/text.h"

namespace lenslet {
namespace {

TEST(ResultFile, CsvQuotesTextsAndLeavesNumbers) {
  ResultRow row;
  row.study = row.name = row.problem = row.backend = row.detail = row.math = row.layout = row.cache =
      row.status = row.reason = row.bound_by = row.repro = "=x,y";
  row.labels = {{"=a", "b"}};
  row.setup_ns = -2.5;
  ResultFile file;
  file.rows = {row};
  const std::string csv = file.to_csv();
  const std::string line = csv.substr(csv.find('\n') + 1);
  size_t quoted = 0;
  for (size_t at = line.find("\"'=x,y\""); at != std::string::npos; at = line.find("\"'=x,y\"", at + 1))
    ++quoted;
  EXPECT_EQ(quoted, 12u) << line;
  EXPECT_EQ(line.find(",="), std::string::npos) << line;
  EXPECT_NE(line.find(",'=a=b,"), std::string::npos) << line;
  EXPECT_NE(line.find(",-2.5,"), std::string::npos) << line;
}

TEST(ResultFile, NotANumberBecomesNull) {
  ResultFile file;
  file.tool = "test";
  ResultRow row;
  row.name = "n";
  row.flops = NAN;
  row.ceiling_fraction = INFINITY;
  row.error = ResultError{NAN, 0, 1, 3};
  file.rows.push_back(row);
  const nlohmann::json read = nlohmann::json::parse(file.to_json()).at("results").at(0);
  EXPECT_TRUE(read.at("flops").is_null());
  EXPECT_TRUE(read.at("time_ns").is_null());
  EXPECT_TRUE(read.at("error").at("max_abs").is_null());
  EXPECT_EQ(file.to_csv().find("nan"), std::string::npos);
}

TEST(ResultFile, ARateThatCountsSavedProductsIsCalledEffective) {
  ResultRow row;
  EXPECT_EQ(format_gflops(row), "-");
  row.flops = 3e6;
  row.time.median = 1e3;
  EXPECT_EQ(format_gflops(row), format_short(3000));
  row.products_saved = 2.25;
  EXPECT_EQ(format_gflops(row, 1e3), format_short(3) + " effective");
  EXPECT_EQ(format_gflops(row, 1, 2e3), format_short(1500) + " effective");
}

TEST(ResultFile, ConditionsAreThoseBeforeAndAfter) {
  ResultFile file;
  file.tool = "test";
  EXPECT_EQ(file.to_json().find("\"conditions\""), std::string::npos);
  file.before = read_conditions(Device::cpu());
  file.before->clock_mhz = 12345;
  const nlohmann::json read = nlohmann::json::parse(file.to_json()).at("conditions");
  EXPECT_EQ(read.at("before").at("clock_mhz"), 12345);
  EXPECT_NE(read.at("after").at("clock_mhz"), 12345) << "not read again";
}

}  // namespace
}  // namespace lenslet
