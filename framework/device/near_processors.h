// The processors that share a NUMA node with a GPU. A copy of host memory by others crosses the link between the nodes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/device/device.h"

namespace lenslet {

/// Of the NUMA node of the device on the PCI bus at `address`, such as "0000:3B:00.0", by the files in `sys`. Empty if
/// the system does not state one, as on a machine with one node.
std::vector<int> processors_near(const std::string& address, const std::string& sys = "/sys");
/// Of a device. Empty for the CPU.
std::vector<int> processors_near(Device device);

/// The numbers in a list of the kernel, such as "0-3,8,10-11"; nullopt for any other text.
std::optional<std::vector<int>> parse_processor_list(std::string_view text);

}  // namespace lenslet
