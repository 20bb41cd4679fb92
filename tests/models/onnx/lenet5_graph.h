// LeNet-5 with the built-in weights as an ONNX graph.
#pragma once

#include "models/lenet5.h"
#include "tests/models/onnx/onnx_writer.h"

namespace lenslet::test::onnx {

struct Lenet5Form {
  bool matmul = false;              // linear layers as MatMul and Add, else Gemm
  bool transposed_by_node = false;  // their weights go through a Transpose
  bool pool_first = false;          // max pooling before ReLU
  int64_t padding = 0;              // of conv1
  bool softmax = false;             // at the end
  bool trains = false;              // a Dropout after each pooling is in training
  bool left_out = false;            // nodes name optional inputs and outputs that they do not have
  bool reads_last = false;          // channels of the input are last, and a Transpose moves them to the front
  // The shape of a sample of the input; a first Reshape turns it into 28x28x1 or 1x28x28. Empty: the input has one of
  // these shapes, and that Reshape is left out.
  std::vector<int64_t> sample = {};
  // The first Reshape makes 1x28x28xN of N samples; a second one, after the Transpose, makes Nx1x28x28.
  bool batch_last = false;
  bool flattens_last = false;  // a Transpose moves channels to the end before Flatten, as in Keras
};

inline Message lenet5_graph(const Lenet5Form& form) {
  const Safetensors weights = builtin_lenet5_weights();
  GraphParts parts;
  const std::vector<int64_t> image_shape =
      form.reads_last ? std::vector<int64_t>{-1, 28, 28, 1} : std::vector<int64_t>{-1, 1, 28, 28};
  std::vector<int64_t> input = {-1};
  input.insert(input.end(), form.sample.begin(), form.sample.end());
  parts.inputs = {value("image", form.sample.empty() ? image_shape : input)};
  const auto values = [&](const std::string& name) {
    const Tensor& tensor = weights.tensors.at(name);
    std::vector<float> ours(tensor.data(), tensor.data() + tensor.shape().num_elements());
    if (!form.flattens_last || name != "fc1.weight") return ours;
    std::vector<float> last;  // [120, 16, 4, 4] as [120, 4, 4, 16]
    for (size_t o = 0; o < 120; ++o)
      for (size_t position = 0; position < 16; ++position)
        for (size_t c = 0; c < 16; ++c) last.push_back(ours[o * 256 + c * 16 + position]);
    return last;
  };
  const auto constant = [&](const std::string& name) {
    parts.initializers.push_back(floats(name, weights.tensors.at(name).shape().dims(), values(name)));
    return name;
  };
  std::string last = "image";
  const auto add = [&](const std::string& op, const std::string& output,
                       const std::vector<std::string>& constants = {},
                       const std::vector<Message>& attributes = {}) {
    std::vector<std::string> inputs = {last};
    inputs.insert(inputs.end(), constants.begin(), constants.end());
    parts.nodes.push_back(node(op, inputs, output, attributes));
    last = output;
  };
  if (!form.sample.empty()) {
    const std::vector<int64_t> last_shape = {1, 28, 28, -1};
    parts.initializers.push_back(int64s("image_shape", form.batch_last ? last_shape : image_shape));
    add("Reshape", "shaped", {"image_shape"});
  }
  if (form.reads_last) add("Transpose", "first", {}, {attribute("perm", {0, 3, 1, 2})});
  if (form.batch_last) {
    parts.initializers.push_back(int64s("apart", {-1, 1, 28, 28}));
    add("Reshape", "again", {"apart"});
  }
  for (const std::string number : {"1", "2"}) {
    const int64_t pad = number == "1" ? form.padding : 0;
    add("Conv", "c" + number, {constant("conv" + number + ".weight"), constant("conv" + number + ".bias")},
        {attribute("pads", {pad, pad, pad, pad}), attribute("kernel_shape", {5, 5})});
    const auto pool = [&] {
      add("MaxPool", "p" + number, {}, {attribute("kernel_shape", {2, 2}), attribute("strides", {2, 2})});
    };
    if (form.pool_first) pool();
    add("Relu", "r" + number);
    if (!form.pool_first) pool();
    if (form.trains) {
      parts.initializers.push_back(int64s("trains" + number, {1}));
      add("Dropout", "t" + number, {"", "trains" + number});
    }
    if (!form.left_out) continue;
    parts.nodes.back().text(2, "");
    add("Dropout", "d" + number, {"", ""});
    parts.nodes.back().text(2, "");
  }
  if (form.flattens_last) add("Transpose", "last", {}, {attribute("perm", {0, 2, 3, 1})});
  add("Flatten", "flat");
  for (const std::string number : {"1", "2", "3"}) {
    const std::string weight = "fc" + number + ".weight", bias = constant("fc" + number + ".bias");
    const Shape& shape = weights.tensors.at(weight).shape();
    const bool stored_transposed = form.matmul != form.transposed_by_node;  // as [I, O]
    std::string name = weight;
    if (stored_transposed) {
      const std::vector<float> ours = values(weight);
      std::vector<float> turned(ours.size());
      for (int64_t o = 0; o < shape[0]; ++o)
        for (int64_t i = 0; i < shape[1]; ++i)
          turned[static_cast<size_t>(i * shape[0] + o)] = ours[static_cast<size_t>(o * shape[1] + i)];
      parts.initializers.push_back(floats(weight, {shape[1], shape[0]}, turned));
    } else {
      constant(weight);
    }
    if (form.transposed_by_node) {
      name = weight + "_turned";
      parts.nodes.push_back(
          node("Transpose", {weight}, name, {attribute("perm", std::vector<int64_t>{1, 0})}));
    }
    if (form.matmul) {
      add("MatMul", "m" + number, {name});
      add("Add", "f" + number, {bias});
    } else {
      add("Gemm", "f" + number, {name, bias}, {attribute("transB", 1)});
    }
    if (number != "3") add("Relu", "a" + number);
  }
  if (form.softmax) add("Softmax", "out");
  parts.outputs = {value(last, {-1, 10})};
  return model_of(parts);
}

}  // namespace lenslet::test::onnx
