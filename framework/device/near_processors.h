// The processors that share a NUMA node with a GPU. A copy of host memory by others crosses the link between the nodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/device/device.h"

namespace lenslet {

/// The processors of the NUMA node of the device at PCI address `address`, such as "0000:3B:00.0", by the files in
/// `sys`. Empty if the system states no node, as on a machine with one.
std::vector<int> processors_near(const std::string& address, const std::string& sys = "/sys");
/// The processors near a device. Empty for the CPU.
std::vector<int> processors_near(Device device);

/// The numbers in a list of the kernel, such as "0-3,8,10-11"; nullopt for any other text.
std::optional<std::vector<int>> parse_processor_list(std::string_view text);

}  // namespace lenslet
