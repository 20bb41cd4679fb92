// lenslet diff against .npz files: values of the judge that evaluates the file's nodes in fp64, and wrong ones.
#include <cmath>
#include <filesystem>
#include <random>
#include <set>

#include "models/onnx/model_file.h"
#include "tests/cli/fixtures/files.h"
#include "tests/models/onnx/evaluate.h"
#include "tests/models/onnx/onnx_writer.h"
#include "tests/support/npz_writer.h"

namespace lenslet::test {
namespace {

using nlohmann::json;
using Dims = std::vector<int64_t>;

const std::string kNetwork = LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx";
constexpr int64_t kSamples = 3;

struct Tensor {
  Dims dims;
  std::vector<float> values;
};

/// The input and every value that a node of the network computes from it.
std::map<std::string, Tensor> right_values() {
  const lenslet::onnx::Model model = lenslet::onnx::read_model(kNetwork);
  onnx::Array input{{kSamples, 3, 32, 32}, {}};
  std::mt19937 random(11);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t i = 0; i < kSamples * 3 * 32 * 32; ++i) input.values.push_back(double{uniform(random)});
  std::map<std::string, Tensor> tensors;
  const auto take = [&](const std::string& name, const onnx::Array& array) {
    tensors[name] = {array.dims, {array.values.begin(), array.values.end()}};
  };
  take("input", input);
  for (const auto& [name, array] : onnx::evaluate(model, input))
    if (name.size() > 7 && name.compare(name.size() - 7, 7, "_output") == 0) take(name, array);
  return tensors;
}

std::string write(const std::string& file, const std::map<std::string, Tensor>& tensors) {
  NpzWriter writer;
  for (const auto& [name, tensor] : tensors)
    writer.add(name + ".npy", npy("<f4", tensor.dims, tensor.values));
  writer.write(expand("{dir}/out/" + file));
  return " --against {dir}/out/" + file + " ";
}

const std::string kDiff = "lenslet diff --device cpu " + kNetwork;

TEST(Diff, RightValuesAreWithinTheirBounds) {
  const std::string against = write("right.npz", right_values());
  expect_run(run_line(kDiff + against + "--batch-size 2 --json {dir}/out/diff.json"), kOk,
             "stem|depthwise|whole pass|within their bounds, 3 samples|stem_output");
  const json document = read_json("{dir}/out/diff.json");
  expect_members(document, {{"schema", "lenslet.diff/1"}, {"samples", 3}, {"batch", 2}});
  std::set<std::string> layers;
  for (const json& row : document.at("comparisons")) {
    layers.insert(row.at("layer"));
    EXPECT_EQ(row.at("status"), "PASSED") << row;
    EXPECT_LE(row.at("difference").get<double>(), row.at("allowed").get<double>());
    EXPECT_LE(row.at("allowed").get<double>(), 1e-3) << "a bound small enough to find a fault";
    EXPECT_NE(row.at("tensor"), "stem_output") << "after the convolution its normalisation is folded in";
  }
  EXPECT_EQ(layers, (std::set<std::string>{"stem", "relu1", "depthwise", "relu2", "pointwise", "relu3",
                                           "mean", "classes", "whole pass"}));
}

TEST(Diff, TheFirstWrongLayerIsNamed) {
  std::map<std::string, Tensor> tensors = right_values();
  tensors.at("norm2_output").values.at(2048 + 77) += 1e-3f;
  for (float& value : tensors.at("classes_output").values) value += 1;
  expect_run(run_line(kDiff + write("wrong.npz", tensors)), kCheckFailed,
             "first beyond its bound: depthwise|norm2_output|value 77 of sample 1|times what is allowed");
  tensors = right_values();
  tensors.at("relu3_output").values.at(5) = NAN;
  expect_run(run_line(kDiff + write("nan.npz", tensors)), kCheckFailed,
             "first beyond its bound: relu3|theirs NaN");
  tensors.at("relu3_output").values.at(5) = -INFINITY;
  expect_run(run_line(kDiff + write("infinite.npz", tensors)), kCheckFailed, "theirs -inf: inf apart");
}

// What changes the shape alone has no row, and no difference is its own.
TEST(Diff, ACopyIsNotBlamed) {
  onnx::GraphParts parts;
  parts.inputs = {onnx::value("x", {-1, 2, 6})};
  parts.initializers = {onnx::floats("w", {3, 2, 3}, std::vector<float>(18, 0.5f)),
                        onnx::floats("one", {3}, {1, 1, 1}), onnx::floats("zero", {3}, {0, 0, 0})};
  parts.nodes = {onnx::node("Conv", {"x", "w"}, "c"),
                 onnx::node("BatchNormalization", {"c", "one", "zero", "zero", "one"}, "y")};
  parts.outputs = {onnx::value("y", {-1, 3, 4})};
  write_file("{dir}/out/series.onnx", onnx::model_of(parts).bytes());
  const Tensor x{{2, 2, 6}, std::vector<float>(24, 1)};
  expect_run(run_line("lenslet diff --device cpu {dir}/out/series.onnx" +
                      write("series.npz", {{"x", x}, {"y", {{2, 3, 4}, std::vector<float>(24, 9)}}})),
             kCheckFailed, "first beyond its bound: c_node (y)|whole pass");
}

TEST(Diff, AFlattenHasNoRowOfItsOwn) {
  onnx::GraphParts parts;
  parts.inputs = {onnx::value("x", {-1, 2, 3})};
  parts.nodes = {onnx::node("Relu", {"x"}, "r"), onnx::node("Flatten", {"r"}, "y")};
  parts.outputs = {onnx::value("y", {-1, 6})};
  write_file("{dir}/out/flat.onnx", onnx::model_of(parts).bytes());
  const std::vector<float> ones(12, 1);
  expect_run(run_line("lenslet diff --device cpu {dir}/out/flat.onnx" +
                      write("flat.npz",
                            {{"x", {{2, 2, 3}, ones}}, {"r", {{2, 2, 3}, ones}}, {"y", {{2, 6}, ones}}})),
             kOk, "2 of 2 comparisons");
}

TEST(Diff, AWrongLayerDoesNotSpoilThoseBehindIt) {
  std::map<std::string, Tensor> tensors = right_values();
  for (const char* name :
       {"classes_output", "flatten_output", "mean_output", "relu3_output", "pointwise_output"})
    tensors.erase(name);
  Tensor &before = tensors.at("norm2_output"), &after = tensors.at("relu2_output");
  for (size_t i = 0; i < before.values.size(); ++i) {
    before.values[i] += 0.5f;
    after.values[i] = std::max(before.values[i], 0.0f);
  }
  expect_run(run_line(kDiff + write("spoilt.npz", tensors) + "--json {dir}/out/spoilt.json"), kCheckFailed,
             "first beyond its bound: depthwise");
  const json comparisons = read_json("{dir}/out/spoilt.json").at("comparisons");
  for (const json& row : comparisons)
    EXPECT_EQ(row.at("status"), row.at("layer") == "depthwise" ? "FAILED" : "PASSED") << row;
}

// Without values between them the differences of layers add up, but stay far below a wrong weight's.
TEST(Diff, TheLastValuesAloneAreJudged) {
  const std::map<std::string, Tensor> all = right_values();
  std::map<std::string, Tensor> tensors = {{"input", all.at("input")},
                                           {"classes_output", all.at("classes_output")}};
  expect_run(run_line(kDiff + write("last.npz", tensors)), kOk, "2 of 2 comparisons");
  tensors.at("classes_output").values.at(12) *= 1.01f;
  expect_run(run_line(kDiff + write("last_wrong.npz", tensors)), kCheckFailed,
             "first beyond its bound: classes|value 2 of sample 1");
}

TEST(Diff, FilesThatCannotBeComparedAreRefused) {
  const std::map<std::string, Tensor> all = right_values();
  const auto refused = [](const std::map<std::string, Tensor>& tensors, const std::string& words) {
    expect_run(run_line(kDiff + write("refused.npz", tensors)), kData, "", words);
  };
  refused({{"classes_output", all.at("classes_output")}}, "expected the input input|found classes_output");
  refused({{"input", all.at("input")}}, "no values to compare");
  refused({{"input", all.at("input")}, {"stem_output", all.at("stem_output")}},
          "no values to compare|stem_output");
  refused({{"input", all.at("input")}, {"classes_output", {{2, 10}, std::vector<float>(20)}}},
          "classes_output|expected 30 values");
  refused({{"input", {{3, 32, 32}, std::vector<float>(3072)}}, {"classes_output", all.at("classes_output")}},
          "expected Nx3x32x32");
  Tensor channels_last = all.at("input");
  std::swap(channels_last.dims.at(1), channels_last.dims.at(3));
  refused({{"input", channels_last}, {"classes_output", all.at("classes_output")}}, "expected Nx3x32x32");
  channels_last = all.at("norm2_output");
  std::swap(channels_last.dims.at(1), channels_last.dims.at(3));
  refused({{"input", all.at("input")}, {"norm2_output", channels_last}}, "norm2_output|each 1x");
  refused({{"input", all.at("input")}, {"clases_output", all.at("classes_output")}},
          "clases_output is not a tensor of the model");
  expect_run(run_line(kDiff + " --against {source}/LICENSE"), kData, "", "no ZIP archive");
  expect_run(run_line(kDiff + " --against {dir}/none.npz"), kData, "", "none.npz: cannot be opened");
  expect_run(run_line(kDiff), kUsage, "", "diff needs --against FILE.npz or --against onnxruntime");
}

TEST(Diff, WithoutOnnxRuntimeThereIsOneError) {
  write_file("{dir}/out/python", "#!/bin/sh\necho 'onnxruntime_values: no such module' >&2\nexit 4\n");
  std::filesystem::permissions(expand("{dir}/out/python"), std::filesystem::perms::owner_all);
  ProgramOptions options;
  options.environment = {{"LENSLET_PYTHON", expand("{dir}/out/python")}};
  expect_run(run_line(kDiff + " --against onnxruntime", options), kUnavailable, "", "no such module");
  options.environment = {{"LENSLET_DIFF_SCRIPT", "/no/such/script.py"}};
  expect_run(run_line(kDiff + " --against onnxruntime", options), kUnavailable, "",
             "LENSLET_DIFF_SCRIPT names");
}

}  // namespace
}  // namespace lenslet::test
