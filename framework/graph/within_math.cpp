#include "framework/graph/within_math.h"

#include <algorithm>
#include <iterator>

namespace lenslet {

namespace {

/// Calls visit(exact) with the request in each more exact mode, nearest first, until it returns true.
template <typename Visit>
bool in_more_exact_modes(const OperatorRequest& request, Visit&& visit) {
  OperatorRequest exact = request;
  for (auto math = std::find(std::begin(kMathModes), std::end(kMathModes), request.math);
       math != std::begin(kMathModes);) {
    exact.math = *--math;
    if (visit(exact)) return true;
  }
  return false;
}

}  // namespace

const BackendEntry* choose_within_math(const Layer& layer, OperatorRequest& request) {
  const BackendEntry* const requested = layer.preferred_entry(request);
  if (!requested || layer.suits(*requested, request)) return requested;
  const BackendEntry* entry = requested;
  in_more_exact_modes(request, [&](const OperatorRequest& exact) {
    const BackendEntry* const preferred = layer.preferred_entry(exact);
    if (!preferred || !layer.suits(*preferred, exact)) return false;
    request.math = exact.math;
    entry = preferred;
    return true;
  });
  return entry;
}

Support supports_within_math(const Layer& layer, const BackendEntry& backend, OperatorRequest& request) {
  const Support support = layer.supports(backend, request);
  if (support || !layer.preferred_entry(request)) return support;
  const bool found = in_more_exact_modes(request, [&](const OperatorRequest& exact) {
    if (!layer.supports(backend, exact)) return false;
    request.math = exact.math;
    return true;
  });
  return found ? Support::yes() : support;
}

}  // namespace lenslet
