// Operators that keep the values and their order, and those that Lenslet can treat so.
#include <algorithm>

#include "framework/base/error.h"
#include "layers/rearrange/rearrange_layer.h"
#include "models/onnx/import/importer.h"
#include "models/onnx/shape/rules.h"

namespace lenslet::onnx {

void Importer::same_values(const Node& node) {
  if (drops_values(node, values_)) throw Unsupported{"Dropout is supported as inference only"};
  const Held input = data(node);
  if (shape(node.outputs.at(0)).num_elements() != input.shape.num_elements()) throw Skip();
  held_[node.outputs[0]] = input;
}

void Importer::cast(const Node& node) {
  if (node.integer_or("to", 0) != static_cast<int>(ValueType::kFloat))
    throw Unsupported{"Cast to another type than float is not supported"};
  same_values(node);
}

// Keras keeps channels last: its exporters transpose before they flatten. The weights of a product after that take the
// other order once, instead of the samples in every pass.
void Importer::transpose(const Node& node) {
  const Transposition transposition = Transposition::of(node, shape(node.inputs.at(0)));
  if (!transposition.keeps_batch()) throw Unsupported{"a Transpose that moves the batch is not supported"};
  if (!transposition.moves_values()) return same_values(node);
  if (only_products_read(node.outputs.at(0))) {
    Held held = data(node);
    held.transposition = transposition;
    held_[node.outputs[0]] = held;
    type_ = kFolded;
    return;
  }
  const std::vector<int64_t>& order = transposition.order;
  put(node, std::make_unique<TransposeLayer>(std::vector<int>(order.begin(), order.end())),
      {shaped(node, 0)});
}

// Each value on the way is read by nodes that keep the values, and at last by products of whole samples.
bool Importer::only_products_read(const std::string& value) const {
  std::vector<std::string> left = {value};
  while (!left.empty()) {
    const std::string name = std::move(left.back());
    left.pop_back();
    const auto readers = readers_.find(name);
    if (readers == readers_.end() || name == model_.outputs.at(0).name) return false;
    for (const size_t reader : readers->second) {
      const Node& node = model_.nodes[reader];
      if (std::count(node.inputs.begin(), node.inputs.end(), name) != 1 || node.inputs[0] != name)
        return false;
      const Rule rule = rule_of(node.op);
      if (rule == &Importer::same_values) {
        left.push_back(node.outputs.at(0));
        continue;
      }
      const std::optional<Shape>& shape = values_.at(name).shape;
      const bool multiplies = rule == &Importer::gemm || rule == &Importer::matmul;
      if (!multiplies || !shape || shape->rank() != 2 || !is_constant(node, 1)) return false;
    }
  }
  return true;
}

// The next convolution pads with zeros as well; anything else reads a padded copy.
void Importer::pad(const Node& node) {
  const Shape x = shape(node.inputs.at(0));
  std::vector<int64_t> pads = node.integers_or("pads", {});
  if (has(node, 1)) {
    if (!values_.at(node.inputs[1]).integers)
      throw Unsupported{"pads that are not constant are not supported"};
    pads = *values_.at(node.inputs[1]).integers;
  }
  double value = node.real_or("value", 0);
  if (has(node, 2)) {
    if (!is_constant(node, 2)) throw Unsupported{"a padding value that is not constant is not supported"};
    const std::vector<float> values = constants_.floats(node.inputs[2]);
    value = values.empty() ? 0 : values[0];
  }
  if (node.text_or("mode", "constant") != "constant")
    throw Unsupported{"Pad is supported with a constant only"};
  const auto rank = static_cast<size_t>(x.rank());
  if (has(node, 3)) {
    if (!values_.at(node.inputs[3]).integers)
      throw Unsupported{"axes that are not constant are not supported"};
    pads = pads_of_all(pads, *values_.at(node.inputs[3]).integers, x.rank());
  }
  if (pads.size() != 2 * rank || pads[0] != 0 || pads[rank] != 0)
    throw Unsupported{"Pad of samples is not supported"};
  const bool outer = (rank != 3 && rank != 4) || pads[1] != 0 || pads[rank + 1] != 0;
  const bool cuts = *std::min_element(pads.begin(), pads.end()) < 0;
  const auto& readers = readers_[node.outputs.at(0)];
  const bool before_convolutions = std::all_of(readers.begin(), readers.end(), [&](size_t reader) {
    return model_.nodes[reader].op == "Conv" && model_.nodes[reader].inputs.at(0) == node.outputs[0];
  });
  Held held = data(node);
  if (!before_convolutions || readers.empty() || outer || cuts || value != 0 || !held.pads.empty()) {
    const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(rank);
    const std::vector<int64_t> before(pads.begin(), middle), after(middle, pads.end());
    put(node, std::make_unique<PadLayer>(before, after, static_cast<float>(value)), {shaped(node, 0)});
    return;
  }
  if (rank == 3)
    held.pads = {0, pads[2], 0, pads[5]};
  else
    held.pads = {pads[2], pads[3], pads[6], pads[7]};
  held_[node.outputs[0]] = held;
  type_ = kFolded;
}

}  // namespace lenslet::onnx
