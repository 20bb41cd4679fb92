#include "framework/tensor/tensor.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "framework/base/integer_math.h"
#include "framework/device/device_memory.h"
#include "framework/device/runtime.h"

namespace lenslet {

namespace {

void* allocate_host(size_t bytes) {
  void* data = nullptr;
  const size_t rounded = align_up(bytes, Buffer::kAlignment);
  if (rounded < bytes || posix_memalign(&data, Buffer::kAlignment, rounded) != 0) {
    throw OutOfDeviceMemory(
        concat("out of host memory: ", bytes, " bytes needed; use a smaller batch or problem"), bytes,
        free_memory_bytes(Device::cpu()));
  }
  return data;
}

}  // namespace

Buffer::Buffer(Device device, size_t bytes) : device_(device), bytes_(bytes) {
  if (bytes == 0) return;
  device_memory::take(device, bytes);
  try {
    if (device.is_cuda()) {
      DeviceGuard guard(device);
      data_ = runtime::allocate(bytes);
    } else {
      data_ = allocate_host(bytes);
    }
  } catch (...) {
    device_memory::give_back(device, bytes);
    throw;
  }
}

Buffer::~Buffer() {
  if (!data_) return;
  device_memory::give_back(device_, bytes_);
  if (device_.is_cuda()) {
    runtime::release(data_, device_.ordinal);
  } else {
    std::free(data_);
  }
}

Buffer::Buffer(Buffer&& other) noexcept
    : device_(other.device_),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PinnedBuffer::PinnedBuffer(Device device, size_t bytes)
    : bytes_(bytes), pinned_(device.is_cuda() && bytes > 0) {
  if (bytes == 0) return;
  data_ = pinned_ ? runtime::allocate_pinned(bytes) : allocate_host(bytes);
}

PinnedBuffer::~PinnedBuffer() {
  if (pinned_) {
    runtime::release_pinned(data_);
  } else {
    std::free(data_);
  }
}

PinnedBuffer::PinnedBuffer(PinnedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(other.bytes_),
      pinned_(std::exchange(other.pinned_, false)) {}

Tensor::Tensor(Shape shape, const std::vector<float>& values) : Tensor(shape) {
  if (shape.num_elements() != static_cast<int64_t>(values.size()))
    throw DataError(concat("a tensor of shape ", shape.to_string(), " has ", shape.num_elements(),
                           " values, found ", values.size()));
  if (!values.empty()) std::memcpy(data(), values.data(), shape.bytes());
}

void copy_bytes(void* dst, Device dst_device, const void* src, Device src_device, size_t bytes,
                Stream& stream) {
  if (bytes == 0) return;
  if (dst_device.is_cuda() || src_device.is_cuda()) {
    runtime::copy_async(dst, src, bytes, stream.native_handle());
  } else {
    std::memcpy(dst, src, bytes);
  }
}

void copy(ConstTensorView src, TensorView dst, Stream& stream) {
  if (src.shape.num_elements() != dst.shape.num_elements()) {
    throw DataError(concat("cannot copy ", src.shape.to_string(), " into ", dst.shape.to_string(),
                           ": the element counts differ"));
  }
  if (src.type != dst.type) {
    throw DataError(concat("cannot copy ", to_string(src.type), " into ", to_string(dst.type)));
  }
  copy_bytes(dst.data, dst.device, src.data, src.device, src.bytes(), stream);
}

void fill_bytes(void* dst, Device device, int byte, size_t bytes, Stream& stream) {
  if (bytes == 0) return;
  if (device.is_cuda()) {
    runtime::fill_async(dst, byte, bytes, stream.native_handle());
  } else {
    std::memset(dst, byte, bytes);
  }
}

}  // namespace lenslet
