#include "framework/graph/within_math.h"

#include <algorithm>
#include <iterator>

namespace lenslet {

const BackendEntry* choose_within_math(const Layer& layer, OperatorRequest& request) {
  const BackendEntry* const requested = layer.preferred_entry(request);
  if (!requested || layer.suits(*requested, request)) return requested;
  OperatorRequest exact = request;
  for (auto math = std::find(std::begin(kMathModes), std::end(kMathModes), request.math);
       math != std::begin(kMathModes);) {
    exact.math = *--math;
    const BackendEntry* const entry = layer.preferred_entry(exact);
    if (entry && layer.suits(*entry, exact)) {
      request.math = exact.math;
      return entry;
    }
  }
  return requested;
}

}  // namespace lenslet
