// Networks of every supported operator, imported and run on the CPU, against the judge that evaluates the file's nodes
// in fp64 (evaluate.h), fused and not, at several batch sizes.
#include "models/onnx/import.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "framework/execution/executable.h"
#include "framework/tensor/tensor.h"
#include "models/onnx/reader.h"
#include "tests/models/onnx/evaluate.h"
#include "tests/models/onnx/onnx_writer.h"

namespace lenslet::test::onnx {
namespace {

using Dims = std::vector<int64_t>;

Message text_attribute(const std::string& name, const std::string& value) {
  return Message().text(1, name).text(4, value).integer(20, 3);
}
Message real_attribute(const std::string& name, float value) {
  return Message().text(1, name).real(2, value).integer(20, 1);
}

/// Writes a network node by node; each reads the value before it unless it names others.
class Writer {
 public:
  Writer(const Dims& sample, int64_t batch = -1) : last_("x") {
    Dims dims = {batch};
    dims.insert(dims.end(), sample.begin(), sample.end());
    parts_.inputs = {value("x", dims)};
  }
  /// Random constants with values around `middle`.
  std::string weights(const Dims& dims, float spread = 0.3f, float middle = 0) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    std::uniform_real_distribution<float> uniform(middle - spread, middle + spread);
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(uniform(random_));
    return constant(floats("k" + std::to_string(++constants_), dims, values));
  }
  std::string numbers(const Dims& numbers) {
    return constant(int64s("k" + std::to_string(++constants_), numbers));
  }
  std::string constant(const Message& initializer) {
    parts_.initializers.push_back(initializer);
    return "k" + std::to_string(constants_);
  }
  std::string constants_name() { return "k" + std::to_string(++constants_); }
  /// Reads the last value, then `constants`.
  std::string add(const std::string& op, const std::vector<std::string>& constants = {},
                  const std::vector<Message>& attributes = {}) {
    std::vector<std::string> inputs = {last_};
    inputs.insert(inputs.end(), constants.begin(), constants.end());
    return join(op, inputs, attributes);
  }
  std::string join(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<Message>& attributes = {}) {
    last_ = "v" + std::to_string(parts_.nodes.size());
    parts_.nodes.push_back(node(op, inputs, last_, attributes));
    return last_;
  }
  std::string batch_norm(int64_t channels) {
    return add("BatchNormalization", {weights({channels}, 0.3f, 1), weights({channels}), weights({channels}),
                                      weights({channels}, 0.3f, 1)});
  }
  const std::string& last() const { return last_; }
  lenslet::onnx::Model model(int64_t opset = 13) {
    parts_.outputs = {value(last_, {-1})};
    return lenslet::onnx::parse_model(model_of(parts_, opset).file(), "m.onnx");
  }

 private:
  GraphParts parts_;
  std::string last_;
  int constants_ = 0;
  std::mt19937 random_{7};
};

lenslet::onnx::Import import(const lenslet::onnx::Model& model) {
  return lenslet::onnx::import_model(model, lenslet::onnx::infer_values(model, "m.onnx"), "m", "m.onnx");
}

// Runs the imported graph on the CPU on random values and compares its output.
void expect_as_judged(const lenslet::onnx::Model& model, int64_t batch, bool fuse) {
  SCOPED_TRACE(testing::Message() << "batch " << batch << (fuse ? ", fused" : ""));
  const lenslet::onnx::Import imported = import(model);
  ASSERT_EQ(lenslet::onnx::faults_of(imported, model), "");
  const Graph& graph = *imported.graph;
  BuildOptions options;
  options.device = Device::cpu();
  options.batch = batch;
  options.fuse = fuse;
  Executable executable(graph, options);
  Array input;
  const Shape& shape = executable.input().shape;
  for (int i = 0; i < shape.rank(); ++i) input.dims.push_back(shape[i]);
  std::mt19937 random(static_cast<unsigned>(batch));
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int64_t i = 0; i < shape.num_elements(); ++i) {
    executable.input().data[i] = uniform(random);
    input.values.push_back(executable.input().data[i]);
  }
  executable.run();
  const std::map<std::string, Array> judged = evaluate(model, input);
  const Array& expected = judged.at(model.outputs[0].name);
  const ConstTensorView output = executable.output();
  ASSERT_EQ(output.shape.num_elements(), static_cast<int64_t>(expected.values.size()));
  double scale = 0;
  for (const double value : expected.values) scale = std::max(scale, std::fabs(value));
  ASSERT_GT(scale, 0);
  for (size_t i = 0; i < expected.values.size(); ++i)
    ASSERT_LE(std::fabs(output.data[i] - expected.values[i]), 2e-5 * scale + 1e-6) << "output " << i;
}

void expect_as_judged(const lenslet::onnx::Model& model) {
  for (const int64_t batch : {1, 3})
    for (const bool fuse : {false, true}) expect_as_judged(model, batch, fuse);
}

void expect_refused(Writer& writer, const std::string& reason, int64_t opset = 13) {
  const lenslet::onnx::Model model = writer.model(opset);
  const lenslet::onnx::Import imported = import(model);
  EXPECT_EQ(imported.graph, nullptr);
  const std::string faults = lenslet::onnx::faults_of(imported, model);
  EXPECT_NE(faults.find(reason), std::string::npos) << faults;
}

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
  w.join("MatMul", {"x", scaled});
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

TEST(OnnxImport, RefusesWhatWouldBeAnotherResult) {
  Writer mixes({4, 4}, 1);
  mixes.add("Reshape", {mixes.numbers({4, 4})});
  mixes.add("Relu");
  expect_refused(mixes, "nodes that mix samples are not supported");
  Writer moves({2, 4, 4});
  moves.add("Transpose", {}, {attribute("perm", {0, 2, 3, 1})});
  expect_refused(moves, "a Transpose that moves values is not supported");
  Writer training({2, 4, 4});
  training.add(
      "BatchNormalization",
      {training.weights({2}), training.weights({2}), training.weights({2}), training.weights({2}, 0.1f, 1)},
      {attribute("training_mode", 1)});
  expect_refused(training, "as inference over channels only", 15);
  Writer dropping({2, 4, 4});
  dropping.add("Conv", {dropping.weights({2, 2, 3, 3})});
  const std::string ratio = dropping.weights({}, 0, 0.5f), trains = dropping.numbers({1});
  dropping.add("Dropout", {ratio, trains});
  expect_refused(dropping, "Dropout is supported as inference only");
  Writer negative({2, 4, 4});
  negative.add("BatchNormalization", {negative.weights({2}), negative.weights({2}), negative.weights({2}),
                                      negative.weights({2}, 0.1f, -1)});
  expect_refused(negative, "its variance of channel 0 is not positive");
  Writer reflects({2, 4, 4});
  reflects.add("Pad", {reflects.numbers({0, 0, 1, 1, 0, 0, 1, 1})}, {text_attribute("mode", "reflect")});
  reflects.add("Conv", {reflects.weights({2, 2, 3, 3})});
  expect_refused(reflects, "Pad is supported with zeros");
  Writer padded({2, 4, 4});
  padded.add("Pad", {padded.numbers({0, 0, 1, 1, 0, 0, 1, 1})});
  padded.add("MaxPool", {}, {attribute("kernel_shape", {2, 2})});
  expect_refused(padded, "Pad is supported before a convolution only");
  Writer inner({2, 4, 4});
  inner.add("Softmax", {}, {attribute("axis", 1)});
  expect_refused(inner, "softmax over another axis than the last");
  Writer dynamic({2, 4, 4});
  dynamic.join("Conv", {"x", "x"});
  expect_refused(dynamic, "weights that are not constant");
  Writer nothing({4});
  nothing.add("Identity");
  expect_refused(nothing, "it computes nothing");
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

TEST(OnnxImport, BoundsTheCopiesOfWeights) {
  Writer w({300});
  const std::string shared = w.weights({300, 300});
  for (int i = 0; i < 4; ++i) w.add("MatMul", {shared});
  expect_refused(w, "together they exceed twice those of the file");
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

}  // namespace
}  // namespace lenslet::test::onnx
