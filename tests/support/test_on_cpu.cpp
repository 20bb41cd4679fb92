// The device of a program for the CPU (test_device.h).
#include "framework/device/device.h"

namespace lenslet {

extern const Device kDevice;
const Device kDevice{DeviceKind::kCpu, 0};

}  // namespace lenslet
