// Several devices by one text: `cuda:all`, `cuda:0,2`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "framework/device/device.h"

namespace lenslet {

/// The result of choose_devices().
struct DeviceChoices {
  std::vector<Device> devices;  // one, or several different GPUs
  std::string reason;           // as in DeviceChoice
};

/// As choose_device(), and also `cuda:all`, every GPU that this build has code for, and `cuda:0,2`, those GPUs in that
/// order. Throws UsageError if a list is malformed or names a GPU twice, UnavailableError if one is unavailable. Both
/// start CUDA for any text but `cpu`.
DeviceChoices choose_devices(std::string_view text);
/// Like choose_devices(text), on a machine of that status.
DeviceChoices choose_devices(std::string_view text, const CudaStatus& status);

/// The only one of the devices that `text` means. Throws UsageError if there are several.
DeviceChoice only_device(std::string_view text, DeviceChoices choice);

/// "cpu", "cuda:0" or "cuda:0,2": the text with which choose_devices() gives these.
std::string device_list(const std::vector<Device>& devices);

}  // namespace lenslet
