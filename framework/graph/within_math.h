// The math mode of a request is the least exact that `auto` may choose.
#pragma once

#include "framework/graph/layer.h"

namespace lenslet {

/// The backend that `auto` takes for a request: Layer::preferred_entry(). If that backend does not suit the request,
/// the nearest more exact mode whose preferred backend suits it is taken, and request.math becomes that mode. Null, and
/// the request unchanged, if no backend supports the requested mode.
const BackendEntry* choose_within_math(const Layer& layer, OperatorRequest& request);

/// Support of a backend for a request in its mode, else in a more exact one, nearest first; request.math then becomes
/// that mode. No, with the reason for the requested mode, if there is none, or if no backend supports that mode.
Support supports_within_math(const Layer& layer, const BackendEntry& backend, OperatorRequest& request);

}  // namespace lenslet
