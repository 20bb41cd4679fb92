#include "apps/lenslet/session/shares.h"

#include <algorithm>

#include "apps/common/output/output.h"
#include "apps/common/output/text.h"

namespace lenslet {

void report_faults(const std::vector<DeviceShare>& shares) {
  const bool others =
      std::any_of(shares.begin(), shares.end(), [](const auto& share) { return share.fault.empty(); });
  for (const DeviceShare& share : shares) {
    if (share.fault.empty()) continue;
    write_standard_error(
        printable(concat("lenslet: warning: ", share.device.to_string(), " failed",
                         others ? ", and the other devices computed its images: " : ": ", share.fault)) +
        "\n");
  }
}

std::string describe_shares(const std::vector<DeviceShare>& shares) {
  int64_t all = 0;
  for (const DeviceShare& share : shares) all += share.images;
  std::string text;
  for (const DeviceShare& share : shares) {
    text +=
        concat(text.empty() ? "" : ", ", share.device.to_string(), " ",
               format_percent(all > 0 ? static_cast<double>(share.images) / static_cast<double>(all) : 0, 1),
               share.fault.empty() ? "" : ", failed");
  }
  return text;
}

}  // namespace lenslet
