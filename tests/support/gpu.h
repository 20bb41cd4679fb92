// Skips a test, with the reason, if there is no usable GPU. A test that did not run never passes.
#pragma once

#include <gtest/gtest.h>

#include "framework/device/device.h"

namespace lenslet {

/// Whether the GPU has clusters of blocks, which need compute capability 9.0.
inline bool gpu_has_clusters() {
  return cuda_status().usable && cuda_status().devices[0].compute_capability >= 90;
}

}  // namespace lenslet

/// The first statement of a GPU test (or of a fixture's SetUp).
#define LENSLET_SKIP_WITHOUT_GPU()                                          \
  do {                                                                      \
    if (!::lenslet::cuda_status().usable) {                                 \
      GTEST_SKIP() << "no usable GPU: " << ::lenslet::cuda_status().reason; \
    }                                                                       \
  } while (false)
