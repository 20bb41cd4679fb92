// Graph: named layers with named inputs. It describes the computation; framework/execution/executable.h runs it.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/graph/layer.h"
#include "framework/tensor/normalisation.h"
#include "framework/tensor/shape.h"

namespace lenslet {

/// A network: its layers in order of execution, what each reads, and how its input is normalised.
class Graph {
 public:
  /// A layer with its name and its inputs.
  struct Node {
    std::string name;              // unique in the graph
    std::unique_ptr<Layer> layer;  // null for the graph's input
    std::vector<int> inputs;       // indices of earlier nodes
    /// The shapes of its inputs, from infer_shapes().
    std::vector<Shape> input_shapes(const std::vector<Shape>& shapes) const;
  };

  /// `input_shape` is the shape of one sample, without the batch: {1, 28, 28}.
  Graph(std::string name, std::string input_name, Shape input_shape);

  /// Appends a layer that reads the named nodes. Throws UsageError for a duplicate name or an unknown input,
  /// DataError if the layer rejects their shapes.
  void add(std::string name, std::unique_ptr<Layer> layer, const std::vector<std::string>& inputs);

  /// The model's name: "lenet5".
  const std::string& name() const noexcept { return name_; }
  /// In order of addition, which is an order of execution; node 0 is the input, the last node the output.
  const std::vector<Node>& nodes() const noexcept { return nodes_; }
  /// Throws UsageError with the existing names if there is no such node.
  const Node& node(const std::string& name) const;
  /// Shape of one sample at the graph's input and output, without the batch: {1, 28, 28}, {10}.
  const Shape& input_shape() const noexcept { return stated_input_shape_; }
  /// States another shape of the same input, {28, 28, 1}: input_shape() returns it, the layers keep theirs. Throws
  /// DataError if it has another number of values.
  void state_input_shape(const Shape& shape);
  Shape output_shape() const;  ///< Of the last node.
  /// Shape of every node's output for that batch, in the order of nodes().
  std::vector<Shape> infer_shapes(int64_t batch) const;
  /// Nodes that read node `index`.
  std::vector<int> consumers(int index) const;

  /// Sets how pixels are converted to this graph's input.
  void set_normalisation(const Normalisation& normalisation) { normalisation_ = normalisation; }
  const Normalisation& normalisation() const noexcept { return normalisation_; }  ///< Default x / 255.

  /// Attaches a layer that computes this whole graph at once. Throws DataError if it rejects the input's shape.
  void set_network(std::unique_ptr<Layer> network);
  /// That layer; null if there is none.
  const Layer* network() const noexcept { return whole_ ? whole_->nodes_.back().layer.get() : nullptr; }
  /// A graph of that layer alone, named like this one, as its node is; null if there is none.
  const Graph* whole() const noexcept { return whole_.get(); }
  /// The request for that layer, which must be there.
  OperatorRequest network_request(Device device, int64_t batch, MathMode math,
                                  ElementType input = ElementType::kFp32,
                                  ElementType output = ElementType::kFp32) const;

 private:
  Shape shape_of(const Node& node, int64_t batch, const std::vector<Shape>& shapes) const;
  std::vector<Shape> shapes_for(int64_t batch) const;
  std::string names() const;

  std::string name_;
  Shape input_shape_, stated_input_shape_;  // as the layers read it, and as callers give it
  Normalisation normalisation_;
  std::vector<Node> nodes_;
  std::vector<Shape> shapes_;                   // of every node's output for a batch of 1
  std::unordered_map<std::string, int> index_;  // of a node, by its name
  std::unique_ptr<Graph> whole_;
};

/// Throws UnavailableError unless a backend can compute the whole network at once.
void check_whole_network(const Graph& graph);

}  // namespace lenslet
