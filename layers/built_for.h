// Internal: the refusal of layers if this build has no GPU side.
#pragma once

#include "framework/device.h"
#include "framework/error.h"

namespace lenslet {

/// Yes for the CPU, and for a GPU if the build has a GPU side.
inline Support built_for([[maybe_unused]] Device device) {
#ifndef LENSLET_HAS_CUDA
  if (device.is_cuda()) {
    return Support::no("this build has no GPU side: configure with -DLENSLET_CUDA=ON, or use --device cpu");
  }
#endif
  return Support::yes();
}

}  // namespace lenslet
