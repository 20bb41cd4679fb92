// The networks that lie beside this file, as exporters wrote them, against the judge that evaluates their nodes.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "framework/execution/executable.h"
#include "models/onnx/model_file.h"
#include "tests/models/onnx/import_fixture.h"

namespace lenslet::test::onnx {
namespace {

TEST(OnnxFiles, GiveWhatTheirNodesCompute) {
  for (const char* name : {"mean_pool", "separable", "resnet20", "mobilenet", "keras/digits", "keras/lenet5",
                           "keras/colours", "keras/series", "zoo/mnist_8"}) {
    SCOPED_TRACE(name);
    expect_as_judged(
        lenslet::onnx::read_model(std::string(LENSLET_SOURCE_DIR "/tests/models/onnx/") + name + ".onnx"),
        {1});
  }
}

// Relu and Clip after a convolution, and Relu after an Add, are no steps of their own.
TEST(OnnxFiles, FuseTheirActivations) {
  const auto steps_of = [](const std::string& name) {
    const lenslet::onnx::Model model =
        lenslet::onnx::read_model(LENSLET_SOURCE_DIR "/tests/models/onnx/" + name + ".onnx");
    const lenslet::onnx::Import imported = import(model);
    BuildOptions options;
    options.device = Device::cpu();
    const Executable executable(*imported.graph, options);
    std::map<std::string, int> steps;
    for (const Executable::Step& step : executable.steps()) ++steps[std::string(step.layer->type())];
    return steps;
  };
  const std::map<std::string, int> mobilenet = {
      {"conv2d", 23}, {"pairwise", 4}, {"avg_pool2d", 1}, {"linear", 1}};
  EXPECT_EQ(steps_of("mobilenet"), mobilenet);
  const std::map<std::string, int> resnet20 = {
      {"conv2d", 21}, {"pairwise", 9}, {"avg_pool2d", 1}, {"linear", 1}};
  EXPECT_EQ(steps_of("resnet20"), resnet20);
}

}  // namespace
}  // namespace lenslet::test::onnx
