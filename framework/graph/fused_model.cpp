#include "framework/graph/fused_model.h"

namespace lenslet {

std::string FusedModel::preferred(const FusedRequest& request) const {
  for (const std::string& variant : variants(request.device.kind)) {
    if (supports(variant, request)) return variant;
  }
  return {};
}

}  // namespace lenslet
