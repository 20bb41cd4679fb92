// Where a GPU sits. Only in a build with the GPU side.
#pragma once

#include <string>

#include "framework/device.h"

namespace lenslet {

/// "0000:1b:00.0", the same in every numbering of the GPUs; empty where the runtime does not tell.
std::string pci_bus_id(Device device);

}  // namespace lenslet
