// Values in host memory, compared bit for bit; with host_values(), which reads them from a device.
#pragma once

#include <cstring>
#include <vector>

#include "framework/tensor/host_values.h"

namespace lenslet {

/// Equal numbers of elements with equal bits, NaNs and the signs of zeros included.
template <typename Value>
bool same_bits(const std::vector<Value>& a, const std::vector<Value>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Value)) == 0;
}

}  // namespace lenslet
