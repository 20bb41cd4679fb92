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

Support Layer::can_fuse_max_pool(const std::string& /*backend*/, const OperatorRequest& /*request*/,
                                 const Pool2dWindow& /*window*/) const {
  return Support::no(concat(type(), " does not fuse max pooling"));
}

Support fuse(const Layer& layer, const std::string& backend, const Layer& next, OperatorRequest& request) {
  const auto no = [&](const char* what) {
    return Support::no(concat("backend ", backend, " does not fuse ", what));
  };
  if (next.is_relu()) {
    if (request.fuse_relu) return no("a second ReLU");
    if (!layer.can_fuse_relu(backend, request.device.kind)) return no("ReLU");
    request.fuse_relu = true;
  } else if (const Pool2dWindow* const window = next.max_pool_window()) {
    if (request.fuse_max_pool) return no("a second max pooling");
    const Support can = layer.can_fuse_max_pool(backend, request, *window);
    if (!can) return can;
    request.fuse_max_pool = *window;
  } else {
    return Support::no(concat(next.type(), " cannot be fused"));
  }
  request.output = next.infer_shape({request.output});
  return Support::yes();
}

}  // namespace lenslet
