// Networks of every supported operator, imported and run on the CPU, against the judge that evaluates the file's nodes
// in fp64, fused and not, at several batch sizes.
#include <gtest/gtest.h>

#include "framework/execution/plan.h"
#include "tests/models/onnx/import_fixture.h"

namespace lenslet::test::onnx {
namespace {

using Dims = std::vector<int64_t>;

TEST(OnnxImport, RunsChainsOfLayers) {
  Writer w({3, 13, 11});
  w.add("Conv", {w.weights({8, 3, 3, 3}), w.weights({8})},
        {attribute("strides", {2, 2}), text_attribute("auto_pad", "SAME_UPPER")});
  w.batch_norm(8);
  w.add("Relu");
  w.add("MaxPool", {},
        {attribute("kernel_shape", {3, 3}), attribute("strides", {2, 2}), attribute("pads", {1, 1, 1, 1})});
  w.add("Conv", {w.weights({6, 4, 3, 3})}, {attribute("group", 2), attribute("pads", {1, 1, 1, 1})});
  w.add("Add", {w.weights({6, 1, 1})});
  w.add("Relu");
  w.add("Conv", {w.weights({6, 1, 3, 3})},
        {attribute("group", 6), attribute("dilations", {2, 2}), attribute("pads", {2, 2, 2, 2})});
  w.add("AveragePool", {}, {attribute("kernel_shape", {2, 2}), attribute("pads", {1, 1, 1, 1})});
  w.add("GlobalAveragePool");
  w.add("Flatten");
  w.add("Gemm", {w.weights({7, 6}), w.weights({7})},
        {attribute("transB", 1), real_attribute("alpha", 0.5f), real_attribute("beta", 2)});
  w.add("Relu");
  w.add("MatMul", {w.weights({7, 5}, 2)});
  w.add("Add", {w.weights({5})});
  w.add("Softmax", {}, {attribute("axis", 1)});
  expect_as_judged(w.model());
}

TEST(OnnxImport, PadsAsTheFileStates) {
  for (const char* automatic : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    SCOPED_TRACE(automatic);
    Writer w({2, 9, 12});
    w.add("Conv", {w.weights({3, 2, 4, 3})},
          {text_attribute("auto_pad", automatic), attribute("strides", {2, 3})});
    expect_as_judged(w.model());
  }
  Writer pads({2, 9, 12});
  pads.add("Pad", {pads.numbers({0, 0, 1, 2, 0, 0, 0, 3})});
  pads.add("Conv", {pads.weights({3, 2, 3, 3})}, {attribute("pads", {0, 1, 1, 0})});
  expect_as_judged(pads.model());
  Writer inside({1, 9, 9});
  for (const int64_t counted : {0, 1}) {
    inside.add("AveragePool", {},
               {attribute("kernel_shape", {3, 3}), attribute("pads", {1, 1, 1, 1}),
                attribute("strides", {2, 2}), attribute("count_include_pad", counted)});
  }
  expect_as_judged(inside.model());
}

TEST(OnnxImport, PoolsAnyWindow) {
  const std::vector<std::vector<Message>> windows = {
      {attribute("kernel_shape", {3, 2}), attribute("pads", {2, 0, 1, 1})},
      {attribute("kernel_shape", {2, 2}), attribute("strides", {2, 2}), attribute("ceil_mode", 1)},
      {attribute("kernel_shape", {3, 3}), attribute("strides", {2, 2}), attribute("pads", {1, 1, 0, 1}),
       attribute("ceil_mode", 1)},
      {attribute("kernel_shape", {3, 2}), attribute("dilations", {2, 3}), attribute("strides", {1, 2})},
      {attribute("kernel_shape", {3, 3}), attribute("strides", {2, 2}),
       text_attribute("auto_pad", "SAME_UPPER")},
      {attribute("kernel_shape", {4, 4}), text_attribute("auto_pad", "SAME_LOWER")}};
  const auto expect_pooling = [](const char* op, const std::vector<Message>& window) {
    Writer w({2, 9, 10});
    w.add(op, {}, window);
    expect_as_judged(w.model(19));
    Writer after_conv({2, 9, 10});
    after_conv.add("Conv", {after_conv.weights({3, 2, 3, 3})}, {attribute("pads", {1, 1, 1, 1})});
    after_conv.add("Relu");
    after_conv.add(op, {}, window);
    expect_as_judged(after_conv.model(19));
  };
  for (size_t i = 0; i < windows.size(); ++i) {
    SCOPED_TRACE(i);
    expect_pooling("MaxPool", windows[i]);
    for (const int64_t counted : {0, 1}) {
      std::vector<Message> window = windows[i];
      window.push_back(attribute("count_include_pad", counted));
      expect_pooling("AveragePool", window);
    }
  }
  Writer line({2, 9});
  line.add("MaxPool", {},
           {attribute("kernel_shape", Dims{3}), attribute("pads", {2, 1}), attribute("strides", Dims{2})});
  line.add("AveragePool", {}, {attribute("kernel_shape", Dims{2}), attribute("pads", {0, 1})});
  expect_as_judged(line.model());
  Writer normalised({7, 4, 3});
  normalised.add("LRN", {}, {attribute("size", 4), real_attribute("alpha", 0.5f), real_attribute("bias", 2)});
  expect_as_judged(normalised.model());
}

TEST(OnnxImport, FoldsWhatFollowsAProduct) {
  Writer w({3, 6, 5});
  w.add("Conv", {w.weights({4, 3, 3, 3})}, {attribute("pads", {1, 1, 1, 1})});
  w.add("Mul", {w.weights({1, 4, 1, 1})});
  w.add("Sub", {w.weights({4, 1, 1})});
  w.batch_norm(4);
  w.add("Div", {w.weights({1}, 0.1f, 2)});
  w.add("GlobalMaxPool");
  w.add("Reshape", {w.numbers({0, -1})});
  w.add("MatMul", {w.weights({4, 6})});
  w.add("Identity");
  w.batch_norm(6);
  const lenslet::onnx::Model model = w.model();
  expect_as_judged(model);
  EXPECT_EQ(import(model).graph->nodes().size(), 4u);  // the input, Conv, GlobalMaxPool, MatMul
}

TEST(OnnxImport, FoldsOnlyWhatNothingElseReads) {
  Writer w({3, 6, 5});
  w.add("Conv", {w.weights({4, 3, 3, 3})}, {attribute("pads", {1, 1, 1, 1})});
  const std::string y = w.last(), bent = w.add("Tanh");
  w.join("Add", {bent, w.join("Mul", {y, w.weights({1, 4, 1, 1}, 0.3f, 2)})});
  expect_as_judged(w.model());
}

// In [N, ..., I] every row of the last dimension is multiplied; what is added to its last dimension is folded.
TEST(OnnxImport, MultipliesTheRowsOfMoreDimensions) {
  Writer folded({3, 7});
  folded.add("MatMul", {folded.weights({7, 5})});
  folded.add("Add", {folded.weights({5})});
  folded.add("Mul", {folded.weights({1, 1, 5}, 0.3f, 1)});
  folded.add("Relu");
  expect_as_judged(folded.model());
  EXPECT_EQ(import(folded.model()).graph->nodes().size(), 3u);  // the input, MatMul, Relu

  // As many rows as outputs: a constant by row, and a normalisation of dimension 1, are no constants by output.
  Writer square({5, 7});
  square.add("MatMul", {square.weights({7, 5})});
  square.add("Add", {square.weights({5, 1})});
  square.batch_norm(5);
  square.add("MatMul", {square.weights({5, 4})});
  square.batch_norm(5);
  expect_as_judged(square.model());

  Writer normalised({5, 7});
  normalised.add("MatMul", {normalised.weights({7, 5})});
  normalised.batch_norm(5);
  expect_as_judged(normalised.model());

  Writer deep({2, 3, 2, 6});
  deep.add("MatMul", {deep.weights({1, 1, 6, 4})});
  deep.add("Sub", {deep.weights({4})});
  deep.add("Transpose", {}, {attribute("perm", {0, 2, 1, 3, 4})});
  deep.add("MatMul", {deep.weights({4, 3})});
  deep.add("Flatten");
  deep.add("MatMul", {deep.weights({36, 2})});
  expect_as_judged(deep.model());

  // A Flatten before it changes no value, so what is held has other dimensions than the model's.
  Writer shaped({12, 2, 2});
  shaped.add("Flatten");
  shaped.add("Reshape", {shaped.numbers({0, 6, 8})});
  shaped.add("MatMul", {shaped.weights({8, 3})});
  expect_as_judged(shaped.model());
}

TEST(OnnxImport, NormalisesWhereNothingTakesIt) {
  Writer w({3, 6, 5});
  w.batch_norm(3);
  w.add("Relu");
  w.add("Flatten");
  w.batch_norm(90);
  expect_as_judged(w.model());
}

TEST(OnnxImport, RunsOneDimension) {
  Writer w({4, 50});
  w.add("Conv", {w.weights({8, 4, 5}), w.weights({8})},
        {attribute("pads", {2, 1}), attribute("strides", Dims{2})});
  w.add("Relu");
  w.add("MaxPool", {}, {attribute("kernel_shape", Dims{2}), attribute("strides", Dims{2})});
  w.batch_norm(8);
  w.add("ReduceMean", {}, {attribute("axes", Dims{-1}), attribute("keepdims", 0)});
  w.add("Gemm", {w.weights({8, 3})});
  expect_as_judged(w.model());
}

TEST(OnnxImport, FreesAFrozenBatch) {
  Writer w({2, 4, 4}, 1);
  w.add("Conv", {w.weights({3, 2, 3, 3})});
  w.add("Reshape", {w.numbers({1, 12})});
  w.add("Gemm", {w.weights({12, 5})});
  expect_as_judged(w.model());
}

TEST(OnnxImport, TakesKerasPicturesOfOneChannel) {
  Writer w({6, 6, 1});
  w.add("Transpose", {}, {attribute("perm", {0, 3, 1, 2})});
  w.add("Conv", {w.weights({3, 1, 3, 3})});
  w.add("Flatten");
  w.add("Gemm", {w.weights({48, 5})});
  expect_as_judged(w.model());
}

TEST(OnnxImport, SoftmaxOfOldOperatorSetsIsOverAllThatFollows) {
  Writer w({3, 2, 5});
  w.add("Softmax");
  expect_as_judged(w.model(11));
  Writer last({3, 2, 5});
  last.add("Softmax");
  expect_as_judged(last.model(13));
}

TEST(OnnxImport, ComputesConstantWeights) {
  Writer w({6});
  const std::string root = w.join("Sqrt", {w.weights({4, 6}, 0.5f, 1)});
  const std::string turned = w.join("Transpose", {root});
  const std::string scaled = w.join("Mul", {turned, w.weights({4})});
  w.join("MatMul", {"x", w.join("Sub", {scaled, w.weights({6, 1})})});
  expect_as_judged(w.model());
}

TEST(OnnxImport, CastsConstantsAsTheFileStates) {
  Writer w({6});
  const std::string whole = w.join("Cast", {w.weights({6, 4}, 3)}, {attribute("to", 7)});
  w.join("MatMul", {"x", w.join("Cast", {whole}, {attribute("to", 1)})});
  expect_as_judged(w.model());
  Writer bits({6});
  bits.join("MatMul", {"x", bits.join("Cast", {bits.weights({6, 4}, 3)}, {attribute("to", 9)})});
  expect_refused(bits, "weights cast to bool");
}

TEST(OnnxImport, DividesWholeConstantsAsWholeNumbers) {
  Writer w({6});
  std::string whole = w.join("Cast", {w.weights({6, 4}, 9)}, {attribute("to", 7)});
  whole = w.join("Div", {whole, w.numbers({4})});
  w.join("MatMul", {"x", w.join("Cast", {whole}, {attribute("to", 1)})});
  expect_as_judged(w.model());
}

TEST(OnnxImport, ObeysOperatorSet6) {
  Writer w({3, 4, 4});
  w.add("PRelu", {w.weights({3})});
  w.add("Dropout", {}, {attribute("is_test", 1)});
  w.add("Add", {w.weights({4, 4})}, {attribute("broadcast", 1), attribute("axis", 2)});
  expect_as_judged(w.model(6));
  Writer trained({3, 4, 4});
  trained.add("Conv", {trained.weights({3, 3, 1, 1})});
  trained.batch_norm(3);
  expect_refused(trained, "is_test must be 1", 6);
  Writer inner({3, 4, 4});
  inner.add("Conv", {inner.weights({4, 3, 1, 1})});
  inner.add("Add", {inner.weights({4})}, {attribute("broadcast", 1), attribute("axis", 1)});
  expect_refused(inner, "broadcasting from axis 1", 6);
}

TEST(OnnxImport, RunsWhatComputesNothing) {
  Writer same({4});
  same.add("Identity");
  expect_as_judged(same.model());
  Writer flat({4, 3});
  flat.add("Flatten");
  expect_as_judged(flat.model());
  Writer numbers(Dims{});
  numbers.add("Tanh");
  numbers.add("Neg");
  expect_as_judged(numbers.model());
}

// The last layer makes a value in another shape than the model states for it.
TEST(OnnxImport, ItsOutputHasTheShapeThatTheModelStates) {
  const auto after_convolution = [](const std::string& op, const std::vector<Message>& attributes) {
    Writer w({2, 4, 5});
    w.add("Conv", {w.weights({4, 2, 4, 3})});  // 4x1x3
    w.add(op, {}, attributes);
    expect_as_judged(w.model(11));
  };
  after_convolution("Flatten", {});
  after_convolution("Squeeze", {attribute("axes", Dims{2})});
  after_convolution("Unsqueeze", {attribute("axes", Dims{1})});
  after_convolution("ReduceMean", {attribute("axes", {2, 3}), attribute("keepdims", 0)});
  Writer all({6});
  all.add("ReduceMean", {}, {attribute("axes", Dims{1}), attribute("keepdims", 0)});
  expect_as_judged(all.model());
}

// A value that no layer stores has no layer's name: `diff` would compare it with another one.
TEST(OnnxImport, NamesWhatLayersComputeThoughItsShapeChangesAtTheEnd) {
  Writer folded({2, 8});
  const std::string sums = folded.add("Conv", {folded.weights({4, 2, 3})});
  const std::string scaled = folded.batch_norm(4);
  const lenslet::onnx::Import after_fold = import(folded.model());
  EXPECT_EQ(after_fold.node_of.count(sums), 0u);
  EXPECT_EQ(after_fold.node_of.at(scaled), "v0_node");
  Writer flat({2, 4, 5});
  const std::string convolved = flat.add("Conv", {flat.weights({4, 2, 3, 3})});
  const std::string row = flat.add("Flatten");
  const lenslet::onnx::Import after_flatten = import(flat.model());
  EXPECT_EQ(after_flatten.node_of.at(convolved), "v0_node");
  EXPECT_EQ(after_flatten.node_of.at(row), "v0_node");
  Writer same({2, 3});
  const std::string copied = same.add("Flatten");
  const lenslet::onnx::Import copy = import(same.model());
  EXPECT_EQ(copy.node_of.at(copied), copy.graph->nodes().back().name);
}

TEST(OnnxImport, CountsTheLayerThatOnlyChangesTheShapeOfTheOutput) {
  Writer w({2, 3});
  for (size_t i = 0; i < lenslet::Plan::kMaxLayers; ++i) w.add("Neg");
  EXPECT_NE(import(w.model()).graph, nullptr);
  w.add("Flatten");
  expect_refused(w, "it has more than 4096 layers");
}

// Nodes that reuse one another, so that a naive evaluation of constants takes exponential time.
TEST(OnnxImport, BoundsTheWorkOfConstants) {
  Writer w({2});
  std::string last = w.weights({2, 2});
  for (int i = 0; i < 60; ++i) last = w.join("Add", {last, last});
  w.join("MatMul", {"x", last});
  expect_refused(w, "constant values");
  Writer deep({2});
  last = deep.weights({2, 2});
  for (int i = 0; i < 100; ++i) last = deep.join("Neg", {last});
  deep.join("MatMul", {"x", last});
  expect_refused(deep, "weights that more than 64 nodes compute");
}

// The layer and its judge take time in proportion to the window.
TEST(OnnxImport, CutsALrnThatReachesBeyondItsChannels) {
  Writer w({3, 4, 4});
  w.add("LRN", {}, {attribute("size", 1001), real_attribute("alpha", 300)});
  const lenslet::onnx::Model model = w.model();
  expect_as_judged(model);
  const std::string layer = import(model).graph->nodes().back().layer->describe();
  EXPECT_EQ(layer.rfind("7 channels", 0), 0u) << layer;
}

TEST(OnnxImport, BoundsTheCopiesOfWeights) {
  Writer w({300});
  const std::string shared = w.weights({300, 300});
  for (int i = 0; i < 4; ++i) w.add("MatMul", {shared});
  expect_refused(w, "together exceed twice those of the file; LENSLET_MAX_COMPUTED_WEIGHTS=N allows N more");
}

TEST(OnnxImport, NamesAreThoseOfTheFile) {
  Writer w({2, 4, 4});
  w.add("Conv", {w.weights({2, 2, 3, 3})});
  w.add("Relu");
  const lenslet::onnx::Model model = w.model();
  const lenslet::onnx::Import imported = import(model);
  ASSERT_EQ(imported.graph->nodes().size(), 3u);
  EXPECT_EQ(imported.graph->nodes()[0].name, "x");
  EXPECT_EQ(imported.graph->nodes()[1].name, "v0_node");
  EXPECT_EQ(imported.graph->nodes()[2].name, "v1_node");
  EXPECT_EQ(imported.graph->input_shape(), (Shape{2, 4, 4}));
  EXPECT_EQ(imported.graph->output_shape(), (Shape{2, 2, 2}));
}

// Small variances, where epsilon decides.
TEST(OnnxImport, AddsEpsilonToVariances) {
  for (const bool folded : {false, true}) {
    Writer w({3, 4, 4});
    if (folded) w.add("Conv", {w.weights({3, 3, 1, 1})});
    w.add("BatchNormalization",
          {w.weights({3}, 0.3f, 1), w.weights({3}), w.weights({3}), w.weights({3}, 0.01f, 0.02f)},
          {real_attribute("epsilon", 0.5f)});
    expect_as_judged(w.model());
  }
}

}  // namespace
}  // namespace lenslet::test::onnx
