// Internal: whether a graph is whole.
#pragma once

#include <string>

#include "models/onnx/read/model.h"

namespace lenslet::onnx {

/// The name of a value or node, for messages: "x".
std::string in_quotes(const std::string& name);

/// Throws DataError for a value that nothing produces, two producers of one value, a graph in another order than that
/// of execution (as every cyclic one is), and a graph without inputs or outputs.
void check_graph(const Model& model, const std::string& origin);

}  // namespace lenslet::onnx
