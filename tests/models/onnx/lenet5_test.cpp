// LeNet-5 found in ONNX graphs of several forms, with the same weights as in safetensors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "models/lenet5.h"
#include "models/onnx/lenet5_weights.h"
#include "tests/io/crafted_files.h"
#include "tests/models/onnx/import_fixture.h"
#include "tests/models/onnx/lenet5_graph.h"

namespace lenslet::test::onnx {
namespace {

lenslet::onnx::Lenet5Match match(const lenslet::onnx::Model& model) {
  return lenslet::onnx::match_lenet5(model, lenslet::onnx::infer_values(model, "m.onnx"), "m.onnx");
}
lenslet::onnx::Lenet5Match match(const Message& model) { return match(parse(model)); }

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

TEST(OnnxLenet5, FindsTheWeightsOfChannelsLast) {
  for (const bool matmul : {false, true})
    for (const bool reads_last : {false, true}) {
      SCOPED_TRACE(testing::Message() << matmul << reads_last);
      Lenet5Form form;
      form.matmul = matmul;
      form.reads_last = reads_last;
      form.flattens_last = true;
      const lenslet::onnx::Lenet5Match found = match(lenet5_graph(form));
      EXPECT_EQ(found.difference, "");
      EXPECT_EQ(found.input_shape, reads_last ? std::optional<Shape>({28, 28, 1}) : std::nullopt);
      EXPECT_EQ(found.weights.metadata.count("std"), reads_last ? 1U : 0U);
      expect_the_built_in_weights(found.weights);
    }
}

// A node that reads what `node` read, before it.
lenslet::onnx::Node& put_before(lenslet::onnx::Model& model, const std::string& node, const std::string& op) {
  const auto at = std::find_if(model.nodes.begin(), model.nodes.end(),
                               [&](const lenslet::onnx::Node& each) { return each.op == node; });
  lenslet::onnx::Node made;
  made.op = op;
  made.name = made.op + std::to_string(model.nodes.size());
  made.inputs = {at->inputs[0]};
  made.outputs = {made.name};
  at->inputs[0] = made.name;
  return *model.nodes.insert(at, made);
}

void transpose_before(lenslet::onnx::Model& model, const std::string& node,
                      const std::vector<int64_t>& order) {
  lenslet::onnx::Attribute& perm = put_before(model, node, "Transpose").attributes.emplace_back();
  perm.name = "perm";
  perm.kind = lenslet::onnx::AttributeKind::kIntegers;
  perm.integers = order;
}

// The samples keep their shape and hold pixels / 255, as Keras's do; without a Transpose the network is PyTorch's.
TEST(OnnxLenet5, FindsWhatChannelsLastReadsBehindAReshape) {
  for (const std::vector<int64_t>& sample : {std::vector<int64_t>{28, 28}, std::vector<int64_t>{784}})
    for (const bool keras : {false, true}) {
      SCOPED_TRACE(testing::Message() << sample.size() << keras);
      Lenet5Form form;
      form.sample = sample;
      form.reads_last = form.flattens_last = keras;
      const lenslet::onnx::Lenet5Match found = match(lenet5_graph(form));
      EXPECT_EQ(found.difference, "");
      const Shape shape(sample.data(), static_cast<int>(sample.size()));
      EXPECT_EQ(found.input_shape, keras ? std::optional<Shape>(shape) : std::nullopt);
      EXPECT_EQ(found.weights.metadata.count("std"), keras ? 1U : 0U);
      expect_the_built_in_weights(found.weights);
    }
}

TEST(OnnxLenet5, UndoesTranspositionsInTheirOrder) {
  lenslet::onnx::Model model = parse(lenet5_graph({}));
  transpose_before(model, "Flatten", {0, 2, 3, 1});
  put_before(model, "Flatten", "Identity");
  transpose_before(model, "Flatten", {0, 2, 1, 3});
  const lenslet::onnx::Lenet5Match found = match(model);
  ASSERT_EQ(found.difference, "");
  const Safetensors built_in = builtin_lenet5_weights();
  const float *const theirs = built_in.tensors.at("fc1.weight").data(),
                     *const ours = found.weights.tensors.at("fc1.weight").data();
  for (int64_t c = 0; c < 16; ++c)
    for (int64_t row = 0; row < 4; ++row)
      for (int64_t column = 0; column < 4; ++column)
        EXPECT_EQ(ours[c * 16 + row * 4 + column], theirs[column * 64 + row * 16 + c]) << c << row << column;
}

TEST(OnnxLenet5, TakesNoTransposeThatMixesPixelsOrSamples) {
  const auto difference = [](const std::string& node, const std::vector<int64_t>& order) {
    lenslet::onnx::Model model = parse(lenet5_graph({}));
    transpose_before(model, node, order);
    return match(model).difference;
  };
  EXPECT_EQ(difference("Conv", {0, 1, 3, 2}), "its input's rows and columns are transposed");
  EXPECT_EQ(difference("Conv", {1, 0, 2, 3}), "Transpose \"Transpose12\" mixes samples");
}

TEST(OnnxLenet5, TakesNoTransposeThatMixesSamplesOfMoreThanOne) {
  Lenet5Form form;
  form.sample = {784};
  form.reads_last = form.flattens_last = form.batch_last = true;
  EXPECT_EQ(match(lenet5_graph(form)).difference, "Transpose \"first_node\" mixes samples");
}

TEST(OnnxLenet5, TakesWhatIsLeftOutForAbsent) {
  Lenet5Form form;
  form.left_out = true;
  const lenslet::onnx::Model model = parse(lenet5_graph(form));
  EXPECT_EQ(lenslet::onnx::faults_of(import(model), model), "");
  EXPECT_EQ(match(model).difference, "");
}

TEST(OnnxLenet5, HasNoAttributeThatIsUnknown) {
  lenslet::onnx::Model model = parse(lenet5_graph({}));
  model.nodes[0].attributes.emplace_back().name = "limit";
  EXPECT_EQ(match(model).difference,
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
  model.metadata("mean", "0.5").metadata("std", "0.25");
  const Graph graph = make_lenet5(match(model).weights, "m.onnx");
  EXPECT_EQ(graph.normalisation().mean(), 0.5f);
  EXPECT_EQ(graph.normalisation().std(), 0.25f);
}

}  // namespace
}  // namespace lenslet::test::onnx
