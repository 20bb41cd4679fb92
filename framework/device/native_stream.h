// A Stream as CUDA has it. Internal: only for files that include CUDA headers.
#pragma once

#include <driver_types.h>

#include "framework/device/stream.h"

namespace lenslet {

inline cudaStream_t native(const Stream& stream) { return static_cast<cudaStream_t>(stream.native_handle()); }

}  // namespace lenslet
