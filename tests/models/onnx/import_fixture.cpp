#include "tests/models/onnx/import_fixture.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "framework/execution/executable.h"
#include "framework/tensor/tensor.h"
#include "tests/models/onnx/evaluate.h"

namespace lenslet::test::onnx {
namespace {

// Runs the imported graph on the CPU on random values and compares its output, with and without fused layers.
void expect_as_judged(const lenslet::onnx::Model& model, int64_t batch, double tolerance) {
  const lenslet::onnx::Import imported = import(model);
  ASSERT_EQ(lenslet::onnx::faults_of(imported, model), "");
  const Graph& graph = *imported.graph;
  const Shape shape = graph.infer_shapes(batch)[0];
  Array input;
  input.dims = shape.dims();
  std::mt19937 random(static_cast<unsigned>(batch));
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t i = 0; i < shape.num_elements(); ++i) input.values.push_back(uniform(random));
  const std::map<std::string, Array> judged = evaluate(model, input);
  const Array& expected = judged.at(model.outputs[0].name);
  double scale = 0;
  for (const double value : expected.values) scale = std::max(scale, std::fabs(value));
  ASSERT_GT(scale, 0);
  for (const bool fuse : {false, true}) {
    SCOPED_TRACE(testing::Message() << "batch " << batch << (fuse ? ", fused" : ""));
    BuildOptions options;
    options.device = Device::cpu();
    options.batch = batch;
    options.fuse = fuse;
    Executable executable(graph, options);
    std::copy(input.values.begin(), input.values.end(), executable.input().data);
    executable.run();
    const ConstTensorView output = executable.output();
    ASSERT_EQ(output.shape, Shape(expected.dims.data(), static_cast<int>(expected.dims.size())));
    for (size_t i = 0; i < expected.values.size(); ++i)
      ASSERT_LE(std::fabs(output.data[i] - expected.values[i]), tolerance * scale + 1e-6) << "output " << i;
  }
}

}  // namespace

lenslet::onnx::Import import(const lenslet::onnx::Model& model) {
  return lenslet::onnx::import_model(model, lenslet::onnx::infer_values(model, "m.onnx"), "m", "m.onnx");
}

void expect_as_judged(const lenslet::onnx::Model& model, const std::vector<int64_t>& batches,
                      double tolerance) {
  for (const int64_t batch : batches) expect_as_judged(model, batch, tolerance);
}

void expect_refused(Writer& writer, const std::string& reason, int64_t opset) {
  const lenslet::onnx::Model model = writer.model(opset);
  const lenslet::onnx::Import imported = import(model);
  EXPECT_EQ(imported.graph, nullptr);
  const std::string faults = lenslet::onnx::faults_of(imported, model);
  EXPECT_NE(faults.find(reason), std::string::npos) << faults;
}

}  // namespace lenslet::test::onnx
