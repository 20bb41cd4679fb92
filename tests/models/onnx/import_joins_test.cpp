// Branches and joins of ONNX files, and layers that move values, against the judge.
#include <gtest/gtest.h>

#include "framework/base/error.h"
#include "tests/models/onnx/import_fixture.h"
#include "tests/support/expect_error.h"

namespace lenslet::test::onnx {
namespace {

using Dims = std::vector<int64_t>;

std::string conv(Writer& w, const std::string& x, const Dims& weights, int64_t stride = 1,
                 int64_t group = 1) {
  const int64_t pad = weights[2] / 2;
  return w.join("Conv", {x, w.weights(weights), w.weights({weights[0]})},
                {attribute("pads", {pad, pad, pad, pad}), attribute("strides", {stride, stride}),
                 attribute("group", group)});
}

TEST(OnnxImport, RunsResidualBlocks) {
  Writer w({3, 12, 12});
  std::string x = conv(w, "x", {8, 3, 3, 3});
  x = w.add("Relu");
  std::string shortcut = x;
  conv(w, x, {8, 8, 3, 3});
  w.batch_norm(8);
  w.add("Relu");
  conv(w, w.last(), {8, 8, 3, 3});
  std::string sum = w.join("Add", {w.last(), shortcut});
  x = w.add("Relu");
  conv(w, x, {12, 8, 3, 3}, 2);
  const std::string deep = w.batch_norm(12);
  shortcut = conv(w, x, {12, 8, 1, 1}, 2);
  w.join("Add", {shortcut, deep});
  w.add("Relu");
  w.add("GlobalAveragePool");
  w.add("Flatten");
  w.add("Gemm", {w.weights({12, 5}), w.weights({5})});
  expect_as_judged(w.model());
}

TEST(OnnxImport, RunsDepthwiseSeparableNetworks) {
  Writer w({3, 12, 12});
  conv(w, "x", {8, 3, 3, 3}, 2);
  w.batch_norm(8);
  w.add("Clip", {w.weights({}, 0, 0), w.weights({}, 0, 6)});
  conv(w, w.last(), {8, 1, 3, 3}, 1, 8);
  w.add("HardSwish");
  // Squeeze and excite.
  const std::string wide = w.last();
  w.add("GlobalAveragePool");
  conv(w, w.last(), {4, 8, 1, 1});
  w.add("Relu");
  conv(w, w.last(), {8, 4, 1, 1});
  const std::string gate = w.add("HardSigmoid");
  w.join("Mul", {wide, gate});
  conv(w, w.last(), {6, 8, 1, 1});
  w.add("ReduceMean", {}, {attribute("axes", {2, 3}), attribute("keepdims", 0)});
  w.add("Gemm", {w.weights({6, 5}), w.weights({5})});
  expect_as_judged(w.model(14));
}

TEST(OnnxImport, JoinsAndShufflesChannels) {
  Writer w({4, 6, 6});
  const std::string left = conv(w, "x", {4, 4, 3, 3}), right = conv(w, "x", {2, 4, 1, 1});
  w.join("Concat", {left, right, "x"}, {attribute("axis", -3)});
  w.add("Reshape", {w.numbers({0, 2, 5, 6, 6})});
  w.add("Transpose", {}, {attribute("perm", {0, 2, 1, 3, 4})});
  w.add("Reshape", {w.numbers({0, 10, 6, 6})});
  w.add("Slice", {w.numbers({1, -1}), w.numbers({9, -7}), w.numbers({1, 3}), w.numbers({3, -2})});
  conv(w, w.last(), {3, 3, 3, 3});
  expect_as_judged(w.model());
}

TEST(OnnxImport, ComputesFunctionsOfTwoValues) {
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Max", "Min", "Sum"}) {
    SCOPED_TRACE(op);
    Writer w({3, 4, 5});
    const std::string a = w.join("Tanh", {"x"}), b = w.join("Exp", {"x"});
    w.join(op, {a, b});
    expect_as_judged(w.model());
    for (const Dims& constant : {Dims{}, Dims{3, 1, 1}, Dims{1, 3, 4, 5}, Dims{4, 1}}) {
      for (const bool first : {false, true}) {
        Writer fixed({3, 4, 5});
        const std::string exp = fixed.join("Exp", {"x"}), number = fixed.weights(constant, 0.3f, 1);
        fixed.join(op, first ? std::vector<std::string>{number, exp} : std::vector<std::string>{exp, number});
        expect_as_judged(fixed.model());
      }
    }
  }
  Writer many({3, 4, 5});
  const std::string a = many.join("Tanh", {"x"}), b = many.join("Exp", {"x"});
  many.join("Sum", {many.weights({5}), a, "x", many.weights({3, 1, 1}), b});
  expect_as_judged(many.model());
  Writer slopes({3, 4, 5});
  slopes.add("PRelu", {slopes.weights({3, 1, 1})});
  expect_as_judged(slopes.model());
  Writer power({3, 4, 5});
  power.add("Exp");
  power.add("Pow", {power.weights({}, 0, 1.5f)});
  expect_as_judged(power.model());
  Writer twice({3, 4, 5});
  twice.join("Mul", {"x", "x"});
  expect_as_judged(twice.model());
}

TEST(OnnxImport, FusesReluBehindAJoin) {
  Writer w({3, 4, 5});
  const std::string a = w.join("Tanh", {"x"});
  w.join("Sub", {a, "x"});
  w.add("Relu");
  expect_as_judged(w.model());
}

TEST(OnnxImport, TakesChannelsLast) {
  Writer w({8, 8, 3});
  w.add("Transpose", {}, {attribute("perm", {0, 3, 1, 2})});
  conv(w, w.last(), {5, 3, 3, 3}, 2);
  w.add("Relu");
  w.add("Transpose", {}, {attribute("perm", {0, 2, 3, 1})});
  w.add("Softmax");
  w.add("Flatten");
  w.add("Gemm", {w.weights({80, 4})});
  expect_as_judged(w.model());
}

// A layer of its own only where something else than a product reads what is transposed.
TEST(OnnxImport, FoldsATransposeIntoTheProductsBehindIt) {
  for (const bool shared : {false, true}) {
    SCOPED_TRACE(shared);
    Writer w({3, 4, 5});
    const std::string turned = w.add("Transpose", {}, {attribute("perm", {0, 2, 3, 1})});
    const std::string flat = w.add("Flatten");
    const std::string gemm = w.join("Gemm", {flat, w.weights({7, 60})}, {attribute("transB", 1)});
    w.join("MatMul", {w.join("Reshape", {turned, w.numbers({-1, 60})}), w.weights({60, 7})});
    w.join("Sub", {gemm, w.add("Tanh")});
    if (shared) w.join("Concat", {w.last(), flat}, {attribute("axis", 1)});
    const lenslet::onnx::Model model = w.model();
    const lenslet::onnx::Import imported = import(model);
    ASSERT_TRUE(imported.graph);
    EXPECT_EQ(imported.node_results[0].layer, shared ? "transpose" : "folded");
    EXPECT_EQ(imported.node_of.count(turned), shared ? 1U : 0U);
    EXPECT_EQ(imported.node_of.at("x"), "x");
    expect_as_judged(model);
  }
}

TEST(OnnxImport, PadsBeforeAnyLayer) {
  Writer w({2, 5, 6});
  w.add("Pad", {w.numbers({0, 0, 1, 2, 0, 0, 3, -1}), w.weights({}, 0, -2.5f)});
  w.add("MaxPool", {}, {attribute("kernel_shape", {2, 2})});
  w.add("Pad", {w.numbers({0, 0, 1, 1, 0, 0, 1, 1})});
  w.add("AveragePool", {}, {attribute("kernel_shape", {2, 2})});
  w.add("Pad", {w.numbers({0, 1, 0, 0, 0, 0, 0, 0})});
  w.add("Pad", {w.numbers({0, 0, 1, 1, 0, 0, 1, 1})});
  conv(w, w.last(), {3, 3, 3, 3});
  expect_as_judged(w.model());
}

TEST(OnnxImport, PadsTheAxesThatAreNamed) {
  Writer w({2, 5, 6});
  w.add("Pad", {w.numbers({1, 2, 0, 3}), w.weights({}, 0, -2.5f), w.numbers({3, -2})});
  w.add("Pad", {w.numbers({2, 1}), "", w.numbers({-1})});
  conv(w, w.last(), {3, 2, 3, 3});
  const lenslet::onnx::Model model = w.model(18);
  expect_as_judged(model);
  EXPECT_EQ(import(model).graph->nodes().size(), 3u) << "the second one is the padding of the convolution";
  Writer twice({2, 5, 6});
  twice.add("Pad", {twice.numbers({1, 2, 0, 3}), "", twice.numbers({3, -1})});
  expect_error<DataError>([&] { import(twice.model(18)); }, "it pads axis 3 twice");
  Writer outside({2, 5, 6});
  outside.add("Pad", {outside.numbers({1, 0}), "", outside.numbers({4})});
  expect_error<DataError>([&] { import(outside.model(18)); }, "axis 4");
}

TEST(OnnxImport, AveragesAnyNumberOfValues) {
  Writer w({3, 4});
  const std::string one = w.add("Sigmoid"), two = w.add("Tanh");
  w.join("Mean", {one, w.weights({4}), two, one});
  w.join("Mean", {w.last()});
  expect_as_judged(w.model());
}

TEST(OnnxImport, RefusesJoinsOfSamples) {
  Writer samples({4});
  samples.join("Concat", {"x", "x"}, {attribute("axis", 0)});
  expect_refused(samples, "nodes that mix samples are not supported");
  Writer frozen({4}, 3);
  frozen.add("Mul", {frozen.weights({3, 1})});
  expect_refused(frozen, "would mix or count samples");
  Writer ranks({4, 4}, 4);
  const std::string row = ranks.add("ReduceMean", {}, {attribute("axes", Dims{2}), attribute("keepdims", 0)});
  ranks.join("Add", {"x", row});
  expect_refused(ranks, "of different ranks are not supported");
  Writer cut({4}, 3);
  cut.add("Slice", {cut.numbers({1}), cut.numbers({3})});
  expect_refused(cut, "nodes that mix samples are not supported");
}

}  // namespace
}  // namespace lenslet::test::onnx
