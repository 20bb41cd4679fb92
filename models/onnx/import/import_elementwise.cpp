// Operators that work element by element, and softmax.
#include "framework/base/error.h"
#include "layers/relu/relu_layer.h"
#include "layers/softmax/softmax_layer.h"
#include "models/onnx/import/importer.h"

namespace lenslet::onnx {

void Importer::relu(const Node& node) { put(node, std::make_unique<ReluLayer>(), {data(node)}); }

void Importer::check_later_meaning(const Node& node) const {
  if (model_.opset >= 7) return;
  if ((node.op == "BatchNormalization" || node.op == "Dropout") && node.integer_or("is_test", 0) == 0)
    throw Unsupported{node.op + " is supported as inference only: is_test must be 1"};
  if (!node.find("axis") || node.integer_or("broadcast", 0) == 0 || node.inputs.size() != 2) return;
  const std::optional<Shape>&a = values_.at(node.inputs[0]).shape, &b = values_.at(node.inputs[1]).shape;
  const int64_t axis = node.integer_or("axis", 0);
  if (!a || !b || from_front(axis, a->rank()) + b->rank() != a->rank())
    throw Unsupported{
        concat("broadcasting from axis ", axis, ", as operator set 6 has it, is not supported")};
}

// Before operator set 13 it works on all dimensions from the axis on.
void Importer::softmax(const Node& node) {
  const bool logarithms = node.op == "LogSoftmax";
  const Shape x = shape(node.inputs.at(0));
  const int64_t stated = node.integer_or("axis", model_.opset < 13 ? 1 : -1);
  const int64_t axis = from_front(stated, x.rank());
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
