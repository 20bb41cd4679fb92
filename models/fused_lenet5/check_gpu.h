// Internal: the refusal of a machine or a device without a GPU, for what has no code for the CPU.
#pragma once

#include "framework/base/error.h"
#include "framework/device/device.h"

namespace lenslet {

/// Throws UnavailableError unless `device` is a GPU that this process can use. `needs` begins the message: "latency
/// modes need".
inline void check_gpu(const char* needs, Device device) {
  if (!cuda_status().usable) throw UnavailableError(concat(needs, " a GPU: ", cuda_status().reason));
  if (!device.is_cuda()) throw UnavailableError(concat(needs, " a GPU, not ", device.to_string()));
}

}  // namespace lenslet
