// Internal: `If` nodes whose condition is known before anything runs, as PyTorch's tracing exporter writes them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "models/onnx/read/model.h"

namespace lenslet::onnx {

/// Reads a GraphProto: its nodes, initializers, inputs and outputs, with the values of its constant tensors.
using ReadBranch = std::function<Model(std::string_view graph)>;

/// Puts the nodes of the branch that is taken in place of each If whose condition depends on no value of the input and
/// not on the batch, also inside such branches. What these nodes make gets a name of its own; the outputs keep the
/// names that the If gives them. The model must be whole (check_graph.h). Any other If stays. Returns whether a branch
/// was taken. Throws DataError for a branch that does not fit its If, and for more than `max_nodes` nodes.
bool inline_branches(Model& model, const std::string& origin, size_t max_nodes, const ReadBranch& read);

}  // namespace lenslet::onnx
