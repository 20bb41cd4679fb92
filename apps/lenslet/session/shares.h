// What each of several devices did: one field of result files, one line of the output, one warning each that failed.
#pragma once

#include <string>
#include <vector>

#include "api/model.h"
#include "apps/common/fields/fields.h"

namespace lenslet {

template <>
struct Fields<DeviceShare> {
  template <class Self, class V>
  static void of(Self& share, V&& v) {
    v("device", share.device)("images", share.images)("fault", share.fault);
  }
};

/// Writes a line to standard error for each device that failed. If others work, the line adds that they took its
/// images.
void report_faults(const std::vector<DeviceShare>& shares);
/// "cuda:0 52 %, cuda:2 48 %, failed": the shares of the images, in the order of the devices.
std::string describe_shares(const std::vector<DeviceShare>& shares);

}  // namespace lenslet
