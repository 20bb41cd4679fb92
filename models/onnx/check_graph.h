// Internal: whether a graph is whole.
#pragma once

#include <string>

#include "models/onnx/model.h"

namespace lenslet::onnx {

/// Throws DataError for a value that nothing produces, two producers of one value, a graph in another order than that
/// of execution (as every cyclic one is), and a graph without inputs or outputs.
void check_graph(const Model& model, const std::string& origin);

}  // namespace lenslet::onnx
