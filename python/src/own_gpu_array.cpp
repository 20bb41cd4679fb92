#include "python/src/own_gpu_array.h"

#include <nanobind/ndarray.h>

#include <exception>
#include <utility>

#include "framework/device/runtime.h"
#include "framework/device/stream.h"

namespace nb = nanobind;

namespace lenslet::python {

nb::tuple tuple_of(const std::vector<int64_t>& dims) {
  nb::list list;
  for (const int64_t extent : dims) list.append(extent);
  return nb::tuple(list);
}

// 0 is not allowed in the protocols; 1 is the default stream, 2 that of the thread, as cudaStream_t has them, too.
void* stream_from(nb::handle number) {
  return number.is_none() ? runtime::default_stream() : reinterpret_cast<void*>(nb::cast<uintptr_t>(number));
}

OwnGpuArray::OwnGpuArray(Device device, char type, std::vector<int64_t> dims)
    : device_(device), type_(type), dims_(std::move(dims)) {
  const DeviceGuard guard(device_);
  size_t bytes = 4;
  for (const int64_t extent : dims_) bytes *= static_cast<size_t>(extent);
  if (bytes > 0) data_ = runtime::allocate_on(bytes, runtime::default_stream());
}

OwnGpuArray::~OwnGpuArray() {
  if (!data_) return;
  try {
    const DeviceGuard guard(device_);
    runtime::release_on(data_, runtime::default_stream());
  } catch (const std::exception&) {  // the device is lost, and its memory with it
  }
}

nb::dict OwnGpuArray::interface() const {
  nb::dict dict;
  dict["shape"] = shape();
  dict["typestr"] = type_ == 'i' ? "<i4" : "<f4";
  dict["data"] = nb::make_tuple(reinterpret_cast<uintptr_t>(data_), false);
  dict["version"] = 3;
  dict["strides"] = nb::none();
  dict["stream"] = 1;
  return dict;
}

nb::object OwnGpuArray::dlpack(const nb::object& self, const nb::object& stream, const nb::kwargs&) {
  const auto& array = nb::cast<const OwnGpuArray&>(self);
  if (!stream.is_none() && nb::cast<int64_t>(stream) > 1) {
    const DeviceGuard guard(array.device_);
    Stream own = Stream::borrowed(array.device_, nullptr);
    Stream theirs = Stream::borrowed(array.device_, stream_from(stream));
    Event written(array.device_);
    written.record(own);
    theirs.wait_for(written);
  }
  std::vector<size_t> shape(array.dims_.begin(), array.dims_.end());
  return nb::cast(nb::ndarray<>(array.data_, shape.size(), shape.data(), self, nullptr,
                                array.type_ == 'i' ? nb::dtype<int32_t>() : nb::dtype<float>(),
                                nb::device::cuda::value, array.device_.ordinal));
}

void add_own_gpu_array(nb::module_& module) {
  nb::class_<OwnGpuArray>(module, "GpuArray",
                          R"(Answers in the memory of a GPU, for libraries whose arrays Lenslet cannot make.

Any library with DLPack or the CUDA Array Interface reads it without a copy. The memory is freed in the order of the
default stream: on another one, keep the array until the work is done.)")
      .def_prop_ro("shape", &OwnGpuArray::shape, nb::sig("def shape(self) -> tuple[int, ...]"),
                   "The dimensions.")
      .def_prop_ro("__cuda_array_interface__", &OwnGpuArray::interface,
                   nb::sig("def __cuda_array_interface__(self) -> dict[str, typing.Any]"), "Version 3.")
      .def("__dlpack__", &OwnGpuArray::dlpack, nb::kw_only(), nb::arg("stream") = nb::none(),
           nb::arg("others"),
           nb::sig("def __dlpack__(self, *, stream: int | None = None, **others: typing.Any) -> typing.Any"),
           "A capsule; the stream waits until the answers are written.")
      .def(
          "__dlpack_device__",
          [](const OwnGpuArray& self) {
            return nb::make_tuple(static_cast<int>(nb::device::cuda::value), self.device().ordinal);
          },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"), "CUDA, and the number of the GPU.");
}

}  // namespace lenslet::python
