#include "framework/layer.h"

namespace lenslet {

std::string Layer::preferred(const OperatorRequest& request) const {
  for (const std::string& backend : backends(request.device.kind)) {
    if (supports(backend, request)) return backend;
  }
  return {};
}

}  // namespace lenslet
