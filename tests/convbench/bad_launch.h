// A launch that cannot succeed, and that nobody checks.
#pragma once

#include "framework/stream.h"

namespace lenslet {

/// 4,096 threads a block. Does nothing in a build without the GPU side.
void launch_too_many_threads(Stream& stream);

}  // namespace lenslet
