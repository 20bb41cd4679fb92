// Kernels that do not end while a test waits for them.
#pragma once

#include "framework/device/stream.h"

namespace lenslet {

/// Enqueues a kernel that runs for half a minute, or until its process ends. It occupies one multiprocessor, or with
/// `whole_gpu` all of them.
void enqueue_hang(Stream& stream, bool whole_gpu);

}  // namespace lenslet
