// Internal: which attributes a node may have.
#pragma once

#include <string>

#include "models/onnx/read/model.h"

namespace lenslet::onnx {

/// Why a node's attributes are not all known: 'attribute "stride" is none of Conv's: auto_pad, dilations, …'; empty if
/// they are. An unknown one may change what the node computes, so it is not ignored.
std::string unknown_attribute(const Node& node);

}  // namespace lenslet::onnx
