#include "models/onnx/import/import.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_set>
#include <utility>

#include "framework/base/clause_list.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/execution/plan.h"
#include "layers/reshape/reshape_layer.h"
#include "models/onnx/import/importer.h"
#include "models/onnx/read/attributes.h"

namespace lenslet::onnx {
namespace {

constexpr size_t kMaxReasons = 24;  // about a screen of text; the message counts the rest
// A file may use a weight in several layers, and each layer keeps its own copy: together at most twice the file, and
// kSmallWeights more, so that the factor refuses no small file whose copies cost little.
constexpr int64_t kCopies = 2, kSmallWeights = 1 << 16;

// Names of layers stand in --backend, plans and result files.
std::string layer_name(const std::string& name) {
  std::string out = printable_excerpt(name, 100);
  for (char& c : out)
    if (c == '=' || c == ',' || c == '*' || c == ' ' || c == '"') c = '_';
  return out.empty() ? "layer" : out;
}

std::string fault_of_ends(const Model& model, const Values& values) {
  if (model.inputs.size() != 1 || model.outputs.size() != 1)
    return concat("the graph has ", model.inputs.size(), " inputs and ", model.outputs.size(),
                  " outputs, expected one of each");
  const ValueInfo& input = model.inputs[0];
  if (input.type != ValueType::kFloat)
    return concat("its input is ", to_string(input.type), ", expected float");
  const std::optional<Shape>& shape = values.at(input.name).shape;
  if (!shape || shape->rank() < 1 || shape->rank() > Shape::kMaxRank)
    return concat("its input is ", input.shape_text(),
                  ", expected a batch and known sizes, such as Nx3x32x32: export it with fixed sizes");
  if (shape->num_elements() == 0) return concat("its input is ", input.shape_text(), ", which is empty");
  return {};
}

}  // namespace

Importer::Importer(const Model& model, const Values& values, const std::string& name,
                   const std::string& origin)
    : model_(model), values_(values), origin_(origin), constants_(model, values, origin) {
  import_.node_results.resize(model.nodes.size());
  needed_.resize(model.nodes.size(), false);
  import_.fault = fault_of_ends(model, values);
  room_ = std::max(kSmallWeights, computed_weights_setting().value_or(0));
  for (const auto& [tensor_name, tensor] : model.initializers) room_ += kCopies * tensor.count;
  find_needed();
  if (!import_.fault.empty()) {  // the nodes are checked all the same
    for (const ValueInfo& input : model.inputs)
      if (const auto& shape = values.at(input.name).shape; shape && shape->rank() > 0)
        held_[input.name] = {"", shape->with_batch(1), {}};
    return;
  }
  const ValueInfo& input = model.inputs[0];
  const Shape& shape = *values.at(input.name).shape;
  batch_ = shape[0];
  of_two_ = infer_values_of_two(model, origin);
  const std::string node = names_.take(layer_name(input.name));
  import_.graph = std::make_unique<Graph>(name, node, shape.sample());
  held_[input.name] = {node, shape.with_batch(1), {}};
}

// The nodes that the output depends on, and which of them read each value.
void Importer::find_needed() {
  std::unordered_set<std::string> wanted;
  for (const ValueInfo& output : model_.outputs) wanted.insert(output.name);
  for (size_t i = model_.nodes.size(); i-- > 0;) {
    const Node& node = model_.nodes[i];
    needed_[i] = std::any_of(node.outputs.begin(), node.outputs.end(),
                             [&](const std::string& output) { return wanted.count(output) != 0; });
    if (!needed_[i]) continue;
    for (const std::string& input : node.inputs) {
      if (input.empty()) continue;
      wanted.insert(input);
      std::vector<size_t>& readers = readers_[input];
      if (readers.empty() || readers.back() != i) readers.push_back(i);
    }
  }
}

Import Importer::import() {
  for (at_ = 0; at_ < model_.nodes.size(); ++at_) {
    const Node& node = model_.nodes[at_];
    const auto constant = [&](const std::string& output) { return values_.at(output).is_constant; };
    NodeResult& result = import_.node_results[at_];
    const bool folded = !result.layer.empty();
    if (!needed_[at_])
      result.layer = kNothing;
    else if (folded || constant(node.outputs.at(0)))
      result.reason = unknown_attribute(node, model_.opset);
    else
      take(node);
  }
  const bool refused = std::any_of(import_.node_results.begin(), import_.node_results.end(),
                                   [](const NodeResult& result) { return !result.reason.empty(); });
  name_values();
  if (!refused && import_.fault.empty()) finish(model_.outputs[0].name);
  if (refused || !import_.fault.empty()) import_.graph.reset();
  return std::move(import_);
}

// Finds the layer that stores each value. No layer stores the input of a folded node: the layer that computes this
// input also computes the node, and stores only the result. The exception is a node that is folded into the layer
// after it, which reads that input.
void Importer::name_values() {
  for (const auto& [value, held] : held_)
    if (!held.node.empty() && held.is_stored()) import_.node_of.emplace(value, held.node);
  std::unordered_set<std::string> inside;  // of a layer: nothing stores them
  for (size_t i = model_.nodes.size(); i-- > 0;) {
    const Node& node = model_.nodes[i];
    const auto made = import_.node_of.find(node.outputs.at(0));
    const std::string& layer = import_.node_results[i].layer;
    const bool within = layer == kFolded || (layer == kNothing && inside.count(node.outputs[0]) != 0);
    if (!needed_[i] || !within) continue;
    if (const auto held = held_.find(node.outputs[0]); held != held_.end() && !held->second.is_stored())
      continue;
    for (const std::string& input : node.inputs) {
      const auto read = import_.node_of.find(input);
      const bool elsewhere =
          read != import_.node_of.end() && made != import_.node_of.end() && read->second != made->second;
      if (elsewhere) continue;
      inside.insert(input);
      if (read != import_.node_of.end()) import_.node_of.erase(read);
    }
  }
}

// The network's output has the shape that the model states. A Flatten or Squeeze at the end of the model changes that
// shape without a layer, so a copy follows here. A model that computes nothing gets one too: a graph needs a layer.
void Importer::finish(const std::string& output) {
  const auto found = held_.find(output);
  if (found == held_.end() || found->second.node != import_.graph->nodes().back().name) {
    import_.fault = "its output does not depend on its input";
    return;
  }
  const Held last = found->second;
  if (!last.pads.empty()) {
    import_.fault = "its output is padded; Pad is supported before a convolution only";
    return;
  }
  try {
    const Shape wanted = shape(output);
    if (import_.graph->nodes().size() > 1 && last.shape == wanted) return;
    // `lenslet diff` attributes these values to the layer before it: the copy changes none.
    const bool of_input = last.node == import_.graph->nodes()[0].name;
    const std::string copy = append(output, std::make_unique<ReshapeLayer>(wanted.sample()), {last.node});
    if (of_input) import_.node_of[output] = copy;
  } catch (const Unsupported& unsupported) {
    import_.fault = concat("its output: ", unsupported.reason);
  } catch (const Skip&) {
    import_.fault = "the shape of its output is unknown";
  }
}

void Importer::check_operator(const Node& node) const {
  if (node.op == "If")
    throw Unsupported{"If is supported only where its condition does not depend on an input"};
  if (!rule_of(node.op))
    throw Unsupported{concat("operator ", printable_excerpt(node.op, 40), " is not supported")};
  for (size_t i = 1; i < node.outputs.size() && node.op != "Split"; ++i) {
    if (!node.outputs[i].empty() && readers_.count(node.outputs[i]) != 0)
      throw Unsupported{concat("output ", i, " of ", printable_excerpt(node.op, 40), " is not supported")};
  }
  if (const std::string unknown = unknown_attribute(node, model_.opset); !unknown.empty())
    throw Unsupported{unknown};
  check_later_meaning(node);
}

Import Importer::judge_operators() {
  for (size_t i = 0; i < model_.nodes.size(); ++i) {
    const Node& node = model_.nodes[i];
    if (!needed_[i]) continue;
    std::string& reason = import_.node_results[i].reason;
    try {
      if (values_.at(node.outputs.at(0)).is_constant)
        reason = unknown_attribute(node, model_.opset);
      else
        check_operator(node);
    } catch (const Unsupported& unsupported) {
      reason = unsupported.reason;
    }
  }
  return std::move(import_);
}

void Importer::take(const Node& node) {
  NodeResult& result = import_.node_results[at_];
  type_ = kNothing;
  try {
    check_operator(node);
    (this->*rule_of(node.op))(node);
    result.layer = type_;
    return;
  } catch (const Unsupported& unsupported) {
    result.reason = unsupported.reason;
  } catch (const Skip&) {
  }
  // Nodes that read these outputs are still checked if the shapes are known.
  for (const std::string& output : node.outputs) {
    if (output.empty()) continue;
    Held unknown;
    try {
      unknown.shape = shape(output);
    } catch (const Unsupported&) {
    } catch (const Skip&) {
    }
    held_[output] = unknown;
  }
}

bool Importer::is_constant(const Node& node, size_t i) const {
  return has(node, i) && values_.at(node.inputs[i]).is_constant;
}

Shape Importer::shape(const std::string& value) const {
  const std::optional<Shape>& shape = values_.at(value).shape;
  if (!shape) throw Skip();
  if (shape->rank() < 1 || (*shape)[0] != batch_)
    throw Unsupported{concat("it makes ", shape->to_string(), " of a batch of ", batch_,
                             "; nodes that mix samples are not supported")};
  const auto found = of_two_.find(value);
  if (found == of_two_.end() || !found->second.shape) return shape->with_batch(1);
  const Shape& of_two = *found->second.shape;
  if (of_two.rank() != shape->rank() || of_two[0] != 2 || of_two.with_batch(1) != shape->with_batch(1))
    throw Unsupported{concat("it makes ", of_two.to_string(),
                             " of a batch of 2; nodes that mix samples are not supported")};
  return shape->with_batch(1);
}

Importer::Held Importer::data(const Node& node, size_t i) {
  if (!has(node, i)) throw Unsupported{concat("input ", i, " is missing")};
  if (is_constant(node, i)) throw Unsupported{concat("a constant input ", i, " is not supported")};
  const auto found = held_.find(node.inputs[i]);
  if (found == held_.end() || found->second.shape.rank() == 0) throw Skip();
  if (!found->second.pads.empty() && node.op != "Conv")
    throw Unsupported{"Pad is supported before a convolution only"};
  return found->second;
}

Importer::Held Importer::shaped(const Node& node, size_t i, std::optional<Shape> wanted) {
  const Held held = data(node, i);
  if (!wanted) wanted = shape(node.inputs[i]);
  if (held.shape == *wanted) return held;
  Held made = add(node, std::make_unique<ReshapeLayer>(wanted->sample()), {held});
  made.pads = held.pads;
  return made;
}

Importer::Held Importer::add(const Node& node, std::unique_ptr<Layer> layer,
                             const std::vector<Held>& inputs) {
  std::vector<Shape> shapes;
  std::vector<std::string> names;
  bool known = true;
  for (const Held& held : inputs) {
    shapes.push_back(held.shape);
    names.push_back(held.node);
    known = known && !held.node.empty();
  }
  Held made;
  try {
    made.shape = layer->infer_shape(shapes);
  } catch (const DataError& error) {
    throw Unsupported{error.what()};
  }
  if (made.shape.num_elements() == 0) throw Unsupported{"its output is empty"};
  const bool reshapes = dynamic_cast<const ReshapeLayer*>(layer.get()) != nullptr;
  if (!reshapes) type_ = layer->type().data();
  if (!known || !import_.graph) return made;
  made.node = append(reshapes ? node.name + "_reshape" : node.name, std::move(layer), names);
  return made;
}

std::string Importer::append(const std::string& wanted, std::unique_ptr<Layer> layer,
                             const std::vector<std::string>& inputs) {
  if (import_.graph->nodes().size() > Plan::kMaxLayers) {
    import_.fault = concat("it has more than ", Plan::kMaxLayers, " layers");
    import_.graph.reset();
    return {};
  }
  const std::string name = names_.take(layer_name(wanted));
  import_.graph->add(name, std::move(layer), inputs);
  return name;
}

void Importer::put(const Node& node, std::unique_ptr<Layer> layer, const std::vector<Held>& inputs) {
  const Held made = add(node, std::move(layer), inputs);
  const std::string& output = node.outputs.at(0);
  if (shape(output).num_elements() != made.shape.num_elements())
    throw Unsupported{
        concat("Lenslet makes ", made.shape.to_string(), " of it, expected ", shape(output).to_string())};
  held_[output] = made;
}

void Importer::check_room(int64_t weights) const {
  if (weights > room_)
    throw Unsupported{concat("the weights of all layers together exceed twice those of the file; ",
                             kComputedWeights, "=N allows N more")};
}

Tensor Importer::tensor(const Shape& shape, const std::vector<float>& values) {
  check_room(shape.num_elements());
  room_ -= shape.num_elements();
  if (shape.num_elements() != static_cast<int64_t>(values.size()))
    throw Unsupported{concat(values.size(), " weights, expected ", shape.to_string())};
  if (values.empty()) throw Unsupported{"a constant without elements is not supported"};
  return Tensor(shape, values);
}

Import import_model(const Model& model, const Values& values, const std::string& name,
                    const std::string& origin) {
  return Importer(model, values, name, origin).import();
}

void check_operators(const Model& model, const std::string& origin) {
  const Values values = infer_values(model, origin);
  const Import judged = Importer(model, values, "model", origin).judge_operators();
  if (const std::string faults = faults_of(judged, model); !faults.empty())
    throw DataError(concat(origin, ": ", faults));
}

std::string faults_of(const Import& import, const Model& model) {
  ClauseList reasons(kMaxReasons);
  for (size_t i = 0; i < import.node_results.size(); ++i) {
    const std::string& reason = import.node_results[i].reason;
    if (!reason.empty()) reasons.add(concat(printable_excerpt(model.nodes[i].name, 60), ": ", reason));
  }
  std::string text = import.fault;
  add_clause(text, reasons.text());
  if (reasons.left_out() > 0) text += ": lenslet inspect lists all";
  return text;
}

}  // namespace lenslet::onnx
