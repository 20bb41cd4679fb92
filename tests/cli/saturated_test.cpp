// Functions far from 0, where their values are tiny: the judge of profile has the right values and bounds.
#include <tuple>

#include "tests/cli/fixtures/files.h"
#include "tests/models/onnx/onnx_writer.h"

namespace lenslet::test {
namespace {

using onnx::node;

TEST(SaturatedFunctions, AreJudgedRight) {
  for (const auto& [op, bias] : {std::tuple("Softplus", -25.0f),
                                 {"Softplus", -45.0f},
                                 {"Softplus", 750.0f},
                                 {"Mish", -40.0f},
                                 {"Sigmoid", -40.0f},
                                 {"Sigmoid", -75.3f},
                                 {"Sigmoid", -150.0f},
                                 {"Elu", -1e-7f}}) {
    SCOPED_TRACE(testing::Message() << op << " at " << bias);
    onnx::GraphParts parts;
    parts.inputs = {onnx::value("x", {-1, 1, 8, 8})};
    parts.initializers = {onnx::floats("w", {2, 1, 3, 3}, std::vector<float>(18, 0.05f)),
                          onnx::floats("b", {2}, {bias, 1.1f * bias})};
    parts.nodes = {node("Conv", {"x", "w", "b"}, "c"), node(op, {"c"}, "y")};
    parts.outputs = {onnx::value("y", {-1, 2, 6, 6})};
    write_file("{dir}/out/saturated.onnx", onnx::model_of(parts, 18).bytes());
    expect_run(run_line("lenslet profile --device cpu --min-time-ms 1 --model {dir}/out/saturated.onnx"), kOk,
               "saturated");
  }
}

// A rounding of the sums near -58 changes their sigmoids 58 times as much, relative to them.
TEST(SaturatedFunctions, EnlargeTheErrorsOfTheirInputs) {
  constexpr int64_t kChannels = 16;
  std::vector<float> slopes, scales;
  for (int64_t i = 0; i < 2 * kChannels; ++i) {
    const float at = static_cast<float>(i);
    if (i < kChannels) slopes.push_back(-0.01f * (1 + 0.1f * at));
    scales.push_back(1 - 0.01f * at);
  }
  onnx::GraphParts parts;
  parts.inputs = {onnx::value("x", {-1, 1, 8, 8})};
  parts.initializers = {onnx::floats("w", {kChannels, 1, 1, 1}, slopes),
                        onnx::floats("b", {kChannels}, std::vector<float>(kChannels, -3.9f)),
                        onnx::floats("v", {2, kChannels, 1, 1}, scales)};
  parts.nodes = {node("Conv", {"x", "w", "b"}, "c"), node("Conv", {"c", "v"}, "d"),
                 node("Sigmoid", {"d"}, "y")};
  parts.outputs = {onnx::value("y", {-1, 2, 8, 8})};
  write_file("{dir}/out/saturated.onnx", onnx::model_of(parts, 18).bytes());
  expect_run(run_line("lenslet profile --device cpu --min-time-ms 1 --model {dir}/out/saturated.onnx"), kOk,
             "saturated");
}

}  // namespace
}  // namespace lenslet::test
