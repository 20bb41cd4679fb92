// The device of a program for a GPU (test_device.h).
#include "framework/device/device.h"

namespace lenslet {

extern const Device kDevice;
const Device kDevice{DeviceKind::kCuda, 0};

}  // namespace lenslet
