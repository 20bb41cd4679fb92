// The judge's functions of one value, by ONNX operator.
#pragma once

#include <functional>

#include "models/onnx/read/model.h"

namespace lenslet::test::onnx {

/// Null for an operator that is no function of one value and its attributes.
std::function<double(double)> function_of(const lenslet::onnx::Node& node);

}  // namespace lenslet::test::onnx
