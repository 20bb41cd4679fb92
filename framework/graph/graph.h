// Graph: named layers with named inputs. It describes the computation; framework/execution/executable.h runs it.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/graph/fused_model.h"
#include "framework/graph/layer.h"
#include "framework/tensor/normalisation.h"
#include "framework/tensor/shape.h"

namespace lenslet {

class Graph {
 public:
  /// A layer with its name and its inputs.
  struct Node {
    std::string name;              // unique in the graph
    std::unique_ptr<Layer> layer;  // null for the graph's input
    std::vector<int> inputs;       // indices of earlier nodes
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
  /// Shape of every node's output for that batch, in the order of nodes().
  std::vector<Shape> infer_shapes(int64_t batch) const;
  /// Shapes of the input and the output. Unlike infer_shapes(), it works for batches too large for the layers between.
  std::pair<Shape, Shape> end_shapes(int64_t batch) const;
  /// Nodes that read node `index`.
  std::vector<int> consumers(int index) const;

  /// Sets how pixels are converted to this graph's input.
  void set_normalisation(const Normalisation& normalisation) { normalisation_ = normalisation; }
  const Normalisation& normalisation() const noexcept { return normalisation_; }  ///< Default x / 255.

  /// Attaches a model that computes this whole graph at once.
  void set_fused(std::shared_ptr<const FusedModel> fused) { fused_ = std::move(fused); }
  /// Null if the graph has no fused form.
  const FusedModel* fused() const noexcept { return fused_.get(); }

 private:
  std::vector<Shape> shapes_for(int64_t batch) const;

  std::string name_;
  Shape input_shape_;
  Normalisation normalisation_;
  std::vector<Node> nodes_;
  std::shared_ptr<const FusedModel> fused_;
};

}  // namespace lenslet
