// The error for a backend requested by name that exists only for the other kind of device.
#pragma once

#include <string>

#include "framework/base/error.h"
#include "framework/device/device.h"

namespace lenslet {

/// kCuda for kCpu, and kCpu for kCuda.
inline DeviceKind other_kind(DeviceKind kind) noexcept {
  return kind == DeviceKind::kCpu ? DeviceKind::kCuda : DeviceKind::kCpu;
}

/// "backend 'cudnn' runs on cuda, and this run is on cpu (no NVIDIA driver is loaded); there are: direct, onednn". The
/// name is valid but unavailable here, so the exit code is 4 instead of 2.
inline UnavailableError only_on_other_device(const std::string& what, DeviceKind here,
                                             const std::string& there_are) {
  const bool no_gpu = here == DeviceKind::kCpu && !cuda_status().usable;
  return UnavailableError(concat(what, " runs on ", to_string(other_kind(here)), ", and this run is on ",
                                 to_string(here), no_gpu ? concat(" (", cuda_status().reason, ")") : "",
                                 "; there are: ", there_are));
}

}  // namespace lenslet
