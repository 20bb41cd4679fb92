// Operators that work element by element, and softmax.
#include "framework/base/error.h"
#include "layers/relu/relu_layer.h"
#include "layers/softmax/softmax_layer.h"
#include "models/onnx/importer.h"

namespace lenslet::onnx {

void Importer::relu(const Node& node) { put(node, std::make_unique<ReluLayer>(), {data(node)}); }

// Before operator set 13 it works on all dimensions from the axis on.
void Importer::softmax(const Node& node) {
  const bool logarithms = node.op == "LogSoftmax";
  const Shape x = shape(node.inputs.at(0));
  const int64_t stated = node.integer_or("axis", model_.opset < 13 ? 1 : -1);
  const int64_t axis = stated < 0 ? stated + x.rank() : stated;
  if (axis < 1 || axis >= x.rank())
    throw Unsupported{concat("softmax over axis ", stated, " is not supported")};
  const int last = x.rank() - 1;
  if (model_.opset >= 13 && axis != last) {
    put(node, std::make_unique<SoftmaxLayer>(static_cast<int>(axis), logarithms), {shaped(node, 0)});
    return;
  }
  int64_t outer = 1, inner = 1;
  for (int i = 1; i < x.rank(); ++i) (i < axis ? outer : inner) *= x[i];
  const Held input = data(node);
  const bool fits = input.shape.rank() >= 2 && input.shape[-1] == inner;
  put(node, std::make_unique<SoftmaxLayer>(-1, logarithms),
      {fits ? input : shaped(node, 0, Shape{1, outer, inner})});
}

}  // namespace lenslet::onnx
