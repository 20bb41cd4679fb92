#include "apps/common/system/pci_bus.h"

#include <cuda_runtime.h>

namespace lenslet {

std::string pci_bus_id(Device device) {
  char text[32] = "";
  if (cudaDeviceGetPCIBusId(text, sizeof text, device.ordinal) == cudaSuccess) return text;
  (void)cudaGetLastError();
  return {};
}

}  // namespace lenslet
