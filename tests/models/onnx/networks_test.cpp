// The networks of networks/, from both exporters of PyTorch, on the CPU against the judge that evaluates the file's
// nodes in fp64. networks_test.py compares them with ONNX Runtime.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "tests/models/onnx/import_fixture.h"

namespace lenslet::test::onnx {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files() {
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(LENSLET_NETWORKS))
    if (entry.path().extension() == ".onnx") files.push_back(entry.path().filename());
  std::sort(files.begin(), files.end());
  return files;
}

class ExportedNetworks : public testing::TestWithParam<std::string> {};

TEST_P(ExportedNetworks, AgreeWithTheirNodes) {
  // exported_functions.onnx amplifies roundings: other functions, each within 3 units in the last place, move its
  // outputs by 2.2e-5 of the largest.
  const double tolerance = GetParam() == "exported_functions.onnx" ? 4e-5 : 2e-5;
  expect_as_judged(lenslet::onnx::read_model(std::string(LENSLET_NETWORKS) + "/" + GetParam()), {1, 3},
                   tolerance);
}

std::string test_name(const testing::TestParamInfo<std::string>& info) {
  return info.param.substr(0, info.param.find('.'));
}
INSTANTIATE_TEST_SUITE_P(Files, ExportedNetworks, testing::ValuesIn(files()), test_name);

TEST(ExportedNetworks, AreFifteenFromEachExporter) {
  std::set<std::string> names;
  for (const std::string& file : files()) names.insert(file);
  EXPECT_EQ(names.size(), 30u);
}

}  // namespace
}  // namespace lenslet::test::onnx
