// Every subject with a promise on one kind of device: each backend of each layer type, each backend of the whole
// network. The names come from the registries, so a new backend is tested automatically.
#pragma once

#include <string>
#include <vector>

#include "tests/determinism/promise.h"

namespace lenslet::determinism {

/// The subjects of one backend: "conv2d" by "direct", "fused" by "simd".
struct Family {
  std::string type, backend;
  bool is_module = false;  // BackendEntry::is_module()
  std::string name = type + "_" + backend;
};

std::vector<Family> families(DeviceKind kind);
/// One per layer, math mode and fusion, or per math mode and element type, that the backend supports; if there is none,
/// `why_not` has the last reason. With `small`, only LeNet-5's own layers are included.
std::vector<Subject> subjects(const Family& family, Device device, std::string& why_not, bool small = false);

/// A layer's backend as a subject, for batches up to `largest_batch`; `samples` have the given shape without the batch.
Subject layer_subject(const Layer& layer, const std::string& backend, const OperatorRequest& request,
                      int samples, int64_t largest_batch);

}  // namespace lenslet::determinism
