// Skips a test, with the reason, where there is no usable GPU. Never passes one that did not run.
#pragma once

#include <gtest/gtest.h>

#include "framework/device.h"

/// First statement of a GPU test (or of a fixture's SetUp).
#define LENSLET_SKIP_WITHOUT_GPU()                                          \
  do {                                                                      \
    if (!::lenslet::cuda_status().usable) {                                 \
      GTEST_SKIP() << "no usable GPU: " << ::lenslet::cuda_status().reason; \
    }                                                                       \
  } while (false)
