// The math mode of a request is the least exact that `auto` may choose.
#pragma once

#include "framework/graph/layer.h"

namespace lenslet {

/// The backend that `auto` takes for a request: Layer::preferred_entry(), unless that backend is not suited and one is
/// in a more exact math mode, nearest first; request.math then becomes that mode. Null, and the request unchanged, if
/// no backend supports the requested mode.
const BackendEntry* choose_within_math(const Layer& layer, OperatorRequest& request);

}  // namespace lenslet
