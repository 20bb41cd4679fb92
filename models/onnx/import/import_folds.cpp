// What folds into the convolution or matrix product before it: constants added and multiplied per channel.
#include <algorithm>
#include <cmath>

#include "framework/base/error.h"
#include "models/onnx/import/importer.h"

namespace lenslet::onnx {

std::optional<std::vector<double>> Importer::per_channel(const std::string& name, int rank, int axis,
                                                         int64_t channels) {
  const Shape& shape = constants_.shape(name);
  if (shape.rank() > rank) return std::nullopt;
  for (int i = 1; i <= shape.rank(); ++i) {
    const bool is_channel = rank - i == axis;
    if (shape[-i] != 1 && !(is_channel && shape[-i] == channels)) return std::nullopt;
  }
  const std::vector<float> values = constants_.floats(name);
  const size_t step = values.size() == 1 ? 0 : 1;
  std::vector<double> numbers;
  for (size_t i = 0; i < static_cast<size_t>(channels); ++i) numbers.push_back(values.at(i * step));
  return numbers;
}

Importer::Affine Importer::affine_of(const Node& node, int64_t channels) {
  if (node.integer_or("training_mode", 0) != 0 || node.integer_or("spatial", 1) != 1)
    throw Unsupported{"BatchNormalization is supported as inference over channels only"};
  // Set 6 has is_test, set 14 training_mode.
  const auto outputs = std::count_if(node.outputs.begin(), node.outputs.end(),
                                     [](const std::string& output) { return !output.empty(); });
  if (outputs > 1 && model_.opset >= 7 && model_.opset < 14)
    throw Unsupported{"BatchNormalization with more than one output trains before operator set 14"};
  std::vector<double> given[4];  // scale, bias, mean, variance
  for (size_t i = 0; i < 4; ++i) {
    if (!is_constant(node, i + 1)) throw Unsupported{"weights that are not constant are not supported"};
    const std::vector<float> values = constants_.floats(node.inputs[i + 1]);
    if (static_cast<int64_t>(values.size()) != channels)
      throw Unsupported{concat("input ", i + 1, " has ", values.size(), " values, expected ", channels)};
    given[i].assign(values.begin(), values.end());
  }
  const double epsilon = node.real_or("epsilon", 1e-5f);
  Affine affine;
  for (size_t c = 0; c < static_cast<size_t>(channels); ++c) {
    const double scale = given[0][c] / std::sqrt(given[3][c] + epsilon);
    if (!std::isfinite(scale)) throw Unsupported{concat("its variance of channel ", c, " is not positive")};
    affine.scale.push_back(scale);
    affine.shift.push_back(given[1][c] - given[2][c] * scale);
  }
  return affine;
}

std::optional<Importer::Affine> Importer::affine_of_reader(const Node& node, const std::string& value,
                                                           int axis, int64_t channels) {
  if (axis == 1 && node.op == "BatchNormalization" && node.inputs.at(0) == value && node.inputs.size() == 5)
    return affine_of(node, channels);
  const bool adds = node.op == "Add" || node.op == "Sub", multiplies = node.op == "Mul" || node.op == "Div";
  if (!(adds || multiplies) || node.inputs.size() != 2) return std::nullopt;
  const size_t term = node.inputs[0] == value ? 1 : 0;
  const bool ordered = node.op == "Sub" || node.op == "Div";  // constant - x is no such sum
  if (!is_constant(node, term) || (ordered && term == 0)) return std::nullopt;
  const std::optional<Shape>&x = values_.at(value).shape, &y = values_.at(node.outputs.at(0)).shape;
  if (!x || x != y) return std::nullopt;
  const auto constant = per_channel(node.inputs[term], x->rank(), axis, channels);
  if (!constant) return std::nullopt;
  Affine affine{std::vector<double>(constant->size(), 1.0), std::vector<double>(constant->size(), 0.0)};
  for (size_t c = 0; c < constant->size(); ++c) {
    const double number = (*constant)[c];
    if (adds)
      affine.shift[c] = node.op == "Add" ? number : -number;
    else
      affine.scale[c] = node.op == "Mul" ? number : 1 / number;
  }
  return affine;
}

std::string Importer::fold_readers(std::string value, int axis, Affine& affine) {
  const auto channels = static_cast<int64_t>(affine.scale.size());
  while (value != model_.outputs.at(0).name) {
    const auto readers = readers_.find(value);
    if (readers == readers_.end() || readers->second.size() != 1) break;
    const Node& node = model_.nodes[readers->second[0]];
    // With a third input its own rule decides.
    const bool keeps = node.op == "Identity" || (node.op == "Dropout" && !has(node, 2));
    std::optional<Affine> next;
    try {
      check_later_meaning(node);
    } catch (const Unsupported&) {
      break;
    }
    if (keeps) {
      next = Affine{std::vector<double>(affine.scale.size(), 1.0),
                    std::vector<double>(affine.scale.size(), 0.0)};
    } else {
      try {
        next = affine_of_reader(node, value, axis, channels);
      } catch (const Unsupported&) {  // the node's own rule repeats the reason
      }
    }
    if (!next) break;
    for (size_t c = 0; c < affine.scale.size(); ++c) {
      affine.scale[c] *= next->scale[c];
      affine.shift[c] = affine.shift[c] * next->scale[c] + next->shift[c];
    }
    import_.node_results[readers->second[0]].layer = keeps ? kNothing : kFolded;
    value = node.outputs.at(0);
  }
  return value;
}

}  // namespace lenslet::onnx
