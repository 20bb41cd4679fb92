// Internal: which attributes a node may have.
#pragma once

#include <string>

#include "models/onnx/read/model.h"

namespace lenslet::onnx {

/// 'attribute "stride" is none of Conv's in operator set 13: auto_pad, dilations, …' for the first attribute that its
/// operator does not have; empty if there is none, and for operators that Lenslet lacks. An unknown one may change what
/// the node computes, so it is not ignored. An attribute of a later set is known in earlier ones too.
std::string unknown_attribute(const Node& node, int64_t opset);

}  // namespace lenslet::onnx
