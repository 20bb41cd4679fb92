// The convolution backends of this build, in rank order, from the rows of layers/conv/CMakeLists.txt.
#pragma once

#include <string>
#include <string_view>

#include "framework/graph/backend_table.h"
#include "layers/conv/conv_backend.h"

namespace lenslet {

/// A backend with its name and its kind of device.
using ConvBackendEntry = BackendEntryOf<ConvBackend>;
/// The backends of both kinds of devices, generated from the rows by CMake.
const BackendTable<ConvBackend>& conv_table();
/// The backends in rank order that this build has for that kind of device.
inline const std::vector<ConvBackendEntry>& conv_backend_entries(DeviceKind device) {
  return conv_table().entries(device);
}
/// The entry of that name. Throws UsageError with the legal names; UnavailableError if only the other kind of device
/// has it.
inline const ConvBackendEntry& find_conv_backend(DeviceKind device, std::string_view name) {
  return conv_table().find(device, std::string(name));
}

}  // namespace lenslet
