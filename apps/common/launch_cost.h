// What an empty kernel costs. Only in a build with the GPU side.
#pragma once

#include "framework/stream.h"

namespace lenslet {

/// Enqueues one kernel of one thread that does nothing.
void launch_empty(Stream& stream);

}  // namespace lenslet
