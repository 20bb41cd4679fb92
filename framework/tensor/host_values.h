// Values between host memory and a device: whole vectors, outside of what is timed.
#pragma once

#include <vector>

#include "framework/tensor/tensor.h"

namespace lenslet {

/// Memory of the stream's device with these values, once the stream's work so far is done.
template <typename Value>
Buffer uploaded(const std::vector<Value>& values, Stream& stream) {
  Buffer buffer(stream.device(), values.size() * sizeof(Value));
  copy_bytes(buffer.data(), stream.device(), values.data(), Device::cpu(), buffer.bytes(), stream);
  return buffer;
}

/// What `view` holds when the stream's work so far is done, for which it waits.
template <typename Value = float>
std::vector<Value> host_values(ConstTensorView view, Stream& stream) {
  std::vector<Value> values(view.bytes() / sizeof(Value));
  copy_bytes(values.data(), Device::cpu(), view.data, view.device, view.bytes(), stream);
  stream.synchronise();
  return values;
}

}  // namespace lenslet
