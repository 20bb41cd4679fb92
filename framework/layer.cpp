#include "framework/layer.h"

namespace lenslet {

std::string Layer::preferred(const OperatorRequest& request) const {
  for (const std::string& backend : backends(request.device.kind)) {
    if (supports(backend, request)) return backend;
  }
  return {};
}

Support Layer::lists(const std::string& backend, DeviceKind kind) const {
  std::string legal;
  for (const std::string& name : backends(kind)) {
    if (name == backend) return Support::yes();
    legal += (legal.empty() ? "" : ", ") + name;
  }
  return Support::no(concat(type(), " has no backend '", backend, "' for ", lenslet::to_string(kind),
                            "; there are: ", legal.empty() ? "none" : legal));
}

}  // namespace lenslet
