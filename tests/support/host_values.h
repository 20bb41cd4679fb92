// Values in host memory: as a tensor, read from a device, and compared bit for bit.
#pragma once

#include <cstring>
#include <vector>

#include "framework/tensor/tensor.h"

namespace lenslet {

inline Tensor host_tensor(const Shape& shape, const std::vector<float>& values) {
  Tensor tensor(shape);
  std::memcpy(tensor.data(), values.data(), shape.bytes());
  return tensor;
}

/// What `view` holds when the stream's work is done.
template <typename Value = float>
std::vector<Value> host_values(ConstTensorView view, Stream& stream) {
  std::vector<Value> values(view.bytes() / sizeof(Value));
  copy_bytes(values.data(), Device::cpu(), view.data, view.device, view.bytes(), stream);
  stream.synchronise();
  return values;
}

/// Equal numbers of elements with equal bits, NaNs and the signs of zeros included.
template <typename Value>
bool same_bits(const std::vector<Value>& a, const std::vector<Value>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(Value)) == 0;
}

}  // namespace lenslet
