// LeNet-5 found in ONNX graphs of several forms, with the same weights as in safetensors.
#include <gtest/gtest.h>

#include <cstring>

#include "models/lenet5.h"
#include "models/onnx/import/import.h"
#include "models/onnx/lenet5_weights.h"
#include "models/onnx/read/reader.h"
#include "tests/io/crafted_files.h"
#include "tests/models/onnx/lenet5_graph.h"

namespace lenslet::test::onnx {
namespace {

lenslet::onnx::Lenet5Match match(const Message& model) {
  const lenslet::onnx::Model parsed = lenslet::onnx::parse_model(model.file(), "m.onnx");
  return lenslet::onnx::match_lenet5(parsed, lenslet::onnx::infer_values(parsed, "m.onnx"), "m.onnx");
}

void expect_the_built_in_weights(const Safetensors& found) {
  const Safetensors wanted = builtin_lenet5_weights();
  ASSERT_EQ(found.tensors.size(), wanted.tensors.size());
  for (const auto& [name, tensor] : wanted.tensors) {
    const auto at = found.tensors.find(name);
    ASSERT_NE(at, found.tensors.end()) << name;
    ASSERT_EQ(at->second.shape(), tensor.shape()) << name;
    EXPECT_EQ(std::memcmp(at->second.data(), tensor.data(), tensor.shape().bytes()), 0) << name;
  }
}

TEST(OnnxLenet5, FindsTheWeightsInEveryForm) {
  for (const bool matmul : {false, true})
    for (const bool transposed_by_node : {false, true})
      for (const bool pool_first : {false, true}) {
        SCOPED_TRACE(testing::Message() << matmul << transposed_by_node << pool_first);
        const lenslet::onnx::Lenet5Match found =
            match(lenet5_graph({matmul, transposed_by_node, pool_first}));
        EXPECT_EQ(found.difference, "");
        expect_the_built_in_weights(found.weights);
      }
}

TEST(OnnxLenet5, TakesWhatIsLeftOutForAbsent) {
  Lenet5Form form;
  form.left_out = true;
  const lenslet::onnx::Model model = lenslet::onnx::parse_model(lenet5_graph(form).file(), "m.onnx");
  const lenslet::onnx::Values values = lenslet::onnx::infer_values(model, "m.onnx");
  EXPECT_EQ(lenslet::onnx::faults_of(lenslet::onnx::import_model(model, values, "m", "m.onnx"), model), "");
  EXPECT_EQ(lenslet::onnx::match_lenet5(model, values, "m.onnx").difference, "");
}

TEST(OnnxLenet5, HasNoAttributeThatIsUnknown) {
  lenslet::onnx::Model model = lenslet::onnx::parse_model(lenet5_graph({}).file(), "m.onnx");
  model.nodes[0].attributes.emplace_back().name = "limit";
  const lenslet::onnx::Values values = lenslet::onnx::infer_values(model, "m.onnx");
  EXPECT_EQ(lenslet::onnx::match_lenet5(model, values, "m.onnx").difference,
            "attribute \"limit\" is none of Conv's in operator set 13: auto_pad, dilations, group, "
            "kernel_shape, pads, strides");
}

TEST(OnnxLenet5, NamesWhatMakesAGraphAnotherNetwork) {
  Lenet5Form form;
  form.padding = 1;
  EXPECT_EQ(match(lenet5_graph(form)).difference, "Conv \"c1_node\" has other pads than LeNet-5");
  form = {};
  form.softmax = true;
  EXPECT_EQ(match(lenet5_graph(form)).difference,
            "after fc3 comes Softmax \"out_node\"; export the model with logits as its output");
  form = {};
  form.trains = true;
  EXPECT_EQ(match(lenet5_graph(form)).difference, "before conv2 comes Dropout \"t1_node\", expected Conv");
  EXPECT_EQ(match(model_of(small_graph())).difference, "the input is 1x2, expected 1x1x28x28");
}

TEST(OnnxLenet5, CarriesTheNormalisationOfTheMetadata) {
  Message model = lenet5_graph({});
  model.message(14, Message().text(1, "mean").text(2, "0.5"))
      .message(14, Message().text(1, "std").text(2, "0.25"));
  const Graph graph = make_lenet5(match(model).weights, "m.onnx");
  EXPECT_EQ(graph.normalisation().mean(), 0.5f);
  EXPECT_EQ(graph.normalisation().std(), 0.25f);
}

}  // namespace
}  // namespace lenslet::test::onnx
