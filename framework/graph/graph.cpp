#include "framework/graph/graph.h"

#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet {

Graph::Graph(std::string name, std::string input_name, Shape input_shape)
    : name_(std::move(name)), input_shape_(input_shape), stated_input_shape_(input_shape) {
  if (input_shape.rank() >= Shape::kMaxRank) {
    throw DataError(concat("graph ", name_, ": a sample has at most ", Shape::kMaxRank - 1,
                           " dimensions, so that the batch can be added; found ", input_shape.rank()));
  }
  nodes_.push_back({std::move(input_name), nullptr, {}});
  index_.emplace(nodes_[0].name, 0);
  shapes_.push_back(input_shape.batch_of(1));
}

void Graph::add(std::string name, std::unique_ptr<Layer> layer, const std::vector<std::string>& inputs) {
  if (name.empty() || index_.count(name) != 0) {
    throw UsageError(
        concat("graph ", name_, ": a node's name must be unique and not empty, found '", name, "'"));
  }
  Node node{std::move(name), std::move(layer), {}};
  for (const std::string& input : inputs) {
    const auto found = index_.find(input);
    if (found == index_.end()) {
      throw UsageError(concat("graph ", name_, ": node ", node.name, " reads '", input,
                              "', which does not exist; there are: ", names()));
    }
    node.inputs.push_back(found->second);
  }
  shapes_.push_back(shape_of(node, 1, shapes_));
  index_.emplace(node.name, static_cast<int>(nodes_.size()));
  nodes_.push_back(std::move(node));
}

std::string Graph::names() const {
  std::string names;
  for (const Node& node : nodes_) names += (names.empty() ? "" : ", ") + node.name;
  return names;
}

const Graph::Node& Graph::node(const std::string& name) const {
  const auto found = index_.find(name);
  if (found == index_.end())
    throw UsageError(
        concat("model ", name_, " has no layer '", printable_excerpt(name), "'; there are: ", names()));
  return nodes_[static_cast<size_t>(found->second)];
}

Shape Graph::output_shape() const { return shapes_.back().sample(); }

std::vector<Shape> Graph::infer_shapes(int64_t batch) const {
  if (batch < 1) throw UsageError(concat("the batch size must be at least 1, found ", batch));
  try {
    return shapes_for(batch);
  } catch (const DataError& error) {
    if (batch == 1) throw;
    // If only the batch is too large, report the largest possible one.
    shapes_for(1);
    int64_t max_batch = 1, too_many = batch;
    while (too_many - max_batch > 1) {
      const int64_t middle = max_batch + (too_many - max_batch) / 2;
      try {
        shapes_for(middle);
        max_batch = middle;
      } catch (const DataError&) {
        too_many = middle;
      }
    }
    throw UsageError(concat("the batch size must be 1 to ", max_batch, " for ", name_, ", found ", batch,
                            " (", error.what(), ")"));
  }
}

void Graph::state_input_shape(const Shape& shape) {
  if (shape.num_elements() != input_shape_.num_elements())
    throw DataError(concat("the input of ", name_, " is ", input_shape_.to_string(),
                           ", which cannot be stated as ", shape.to_string()));
  stated_input_shape_ = shape;
}

void Graph::set_network(std::unique_ptr<Layer> network) {
  whole_ = std::make_unique<Graph>(name_, nodes_[0].name, input_shape_);
  whole_->add(name_, std::move(network), {nodes_[0].name});
}

void check_whole_network(const Graph& graph) {
  if (graph.network()) return;
  throw UnavailableError(
      concat("the model ", graph.name(), " has no whole-network plan; use the layered plan"));
}

OperatorRequest Graph::network_request(Device device, int64_t batch, MathMode math, ElementType input,
                                       ElementType output) const {
  return request_for(*network(), {input_shape_.batch_of(batch)}, device, math, input, output);
}

std::vector<Shape> Graph::Node::input_shapes(const std::vector<Shape>& shapes) const {
  std::vector<Shape> found;
  for (const int index : inputs) found.push_back(shapes[static_cast<size_t>(index)]);
  return found;
}

Shape Graph::shape_of(const Node& node, int64_t batch, const std::vector<Shape>& shapes) const {
  if (!node.layer) return input_shape_.batch_of(batch);
  try {
    return node.layer->infer_shape(node.input_shapes(shapes));
  } catch (const DataError& error) {
    throw DataError(concat("layer ", node.name, ": ", error.what()));
  }
}

std::vector<Shape> Graph::shapes_for(int64_t batch) const {
  std::vector<Shape> shapes;
  for (const Node& node : nodes_) shapes.push_back(shape_of(node, batch, shapes));
  return shapes;
}

std::vector<int> Graph::consumers(int index) const {
  std::vector<int> readers;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const std::vector<int>& inputs = nodes_[i].inputs;
    if (std::find(inputs.begin(), inputs.end(), index) != inputs.end())
      readers.push_back(static_cast<int>(i));
  }
  return readers;
}

}  // namespace lenslet
