// Everything that promises bits on one kind of device: each backend of each layer type, each variant of the fused
// model. The names come from the registries, so that a new backend is held to its promise unasked.
#pragma once

#include <string>
#include <vector>

#include "tests/determinism/promise.h"

namespace lenslet::determinism {

/// The subjects of one backend: "conv2d" by "direct", "fused" by "simd".
struct Family {
  std::string type, backend;
};

std::vector<Family> families(DeviceKind kind);
/// One for each layer, math mode and fusion, or for each math mode and element type, that the backend supports here;
/// none with the last reason in `why_not`. Of layers that `small` leaves out, only LeNet-5's own are made.
std::vector<Subject> subjects(const Family& family, Device device, std::string& why_not, bool small = false);

/// A layer's backend as a subject; `samples` of the given shape without the batch. Served up to `largest_batch`.
Subject layer_subject(const Layer& layer, const std::string& backend, const OperatorRequest& request,
                      int samples, int64_t largest_batch);

}  // namespace lenslet::determinism
