// The PCI address of a GPU. Only in a build with the GPU side.
#pragma once

#include <string>

#include "framework/device/device.h"

namespace lenslet {

/// "0000:1b:00.0", independent of how GPUs are numbered; empty if the runtime cannot report it.
std::string pci_bus_id(Device device);

}  // namespace lenslet
