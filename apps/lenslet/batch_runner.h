// Runs a whole data set through one executable and times it end to end.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "framework/executable.h"
#include "framework/io/idx.h"

namespace lenslet {

struct BatchRun {
  std::vector<float> logits;  // [count, classes]
  int64_t count = 0;   // images that were computed: fewer than asked for when interrupted or after a fault
  double wall_ns = 0;  // from bytes in memory to logits in memory, all of them
};

/// Normalises, copies, computes and collects the first `count` images. On a GPU two batches are under way at
/// a time, in page-locked buffers. The last batch is filled up with zeros. `progress` hears how many are
/// done; a signal stops after the batch. Throws DeviceError; `run` then holds what was computed before.
void run_images(Executable& executable, const ImageDataset& data, int64_t count, BatchRun& run,
                const std::function<void(int64_t)>& progress = {});

/// Images a second with the input already on the device: passes back to back for `min_time_ms`.
double device_resident_rate(Executable& executable, double min_time_ms);

}  // namespace lenslet
