#include "python/src/images.h"

#include <cstring>
#include <string>

#include "framework/base/error.h"
#include "models/lenet5.h"

namespace nb = nanobind;

namespace lenslet::python {
namespace {

constexpr int64_t kSide = kLenet5Side;
constexpr int64_t kPixels = kSide * kSide;

std::string type_name(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(type.code);
  if (code == Code::Bool) return "bool";
  const char* kind = code == Code::Int       ? "int"
                     : code == Code::UInt    ? "uint"
                     : code == Code::Float   ? "float"
                     : code == Code::Bfloat  ? "bfloat"
                     : code == Code::Complex ? "complex"
                                             : "a type of bits: ";
  return kind + std::to_string(type.bits);
}

std::string type_of(nb::handle object) { return nb::str(object.type().attr("__name__")).c_str(); }

nb::ndarray<nb::ro> array_of(nb::handle images) {
  nb::ndarray<nb::ro> array;
  if (!images.is_none() && nb::try_cast(images, array, false)) return array;
  if (nb::hasattr(images, "__dlpack__")) {
    try {
      images.attr("__dlpack__")();
    } catch (nb::python_error& error) {
      nb::raise_from(error, PyExc_TypeError, "images: this %s cannot be shared: %s", type_of(images).c_str(),
                     nb::str(error.value()).c_str());
    }
  }
  throw nb::type_error(
      concat("images: expected an array of numpy, or any with DLPack or the buffer protocol, found ",
             type_of(images))
          .c_str());
}

std::string text_of(const nb::ndarray<nb::ro>& array) {
  std::string text = "[";
  for (size_t i = 0; i < array.ndim(); ++i) text += concat(i ? ", " : "", array.shape(i));
  return text + "]";
}

}  // namespace

ImageArray::ImageArray(nb::handle images) : array_(array_of(images)) {
  const bool in_host_memory =
      array_.device_type() == nb::device::cpu::value || array_.device_type() == nb::device::cuda_host::value;
  if (!in_host_memory) {
    const bool cuda = array_.device_type() == nb::device::cuda::value;
    throw nb::value_error(concat("images: expected host memory, found that of ",
                                 cuda ? concat("cuda:", array_.device_id()) : std::string("another device"),
                                 "; copy them first, as .cpu() does for a torch.Tensor")
                              .c_str());
  }
  if (array_.dtype() != nb::dtype<uint8_t>() && array_.dtype() != nb::dtype<float>()) {
    throw nb::type_error(concat("images: expected uint8 (pixels 0 to 255) or float32 (normalised), found ",
                                type_name(array_.dtype()),
                                "; convert with .astype(numpy.uint8) or numpy.float32")
                             .c_str());
  }
  const size_t rank = array_.ndim();
  const bool fits = rank >= 2 && rank <= 4 && static_cast<int64_t>(array_.shape(rank - 1)) == kSide &&
                    static_cast<int64_t>(array_.shape(rank - 2)) == kSide &&
                    (rank < 4 || array_.shape(1) == 1);
  if (!fits) {
    throw nb::value_error(
        concat("images: expected the shape [N, 28, 28], [N, 1, 28, 28] or [28, 28], found ", text_of(array_))
            .c_str());
  }
  count_ = rank == 2 ? 1 : static_cast<int64_t>(array_.shape(0));
  column_stride_ = array_.stride(rank - 1);
  row_stride_ = array_.stride(rank - 2);
  image_stride_ = rank == 2 ? kPixels : array_.stride(0);
  const bool aligned = holds_bytes() || reinterpret_cast<uintptr_t>(array_.data()) % alignof(float) == 0;
  in_order_ =
      aligned && column_stride_ == 1 && row_stride_ == kSide && (count_ <= 1 || image_stride_ == kPixels);
}

std::vector<size_t> ImageArray::shape() const {
  std::vector<size_t> shape;
  for (size_t i = 0; i < array_.ndim(); ++i) shape.push_back(array_.shape(i));
  return shape;
}

template <typename Pixel>
const Pixel* ImageArray::slice(int64_t begin, int64_t count, std::vector<Pixel>& room) const {
  // In bytes, because an array may begin at any address, where an element is no aligned Pixel.
  const auto* first = static_cast<const char*>(array_.data());
  constexpr int64_t kBytes = sizeof(Pixel);
  if (in_order_) return reinterpret_cast<const Pixel*>(first + begin * kPixels * kBytes);
  room.resize(static_cast<size_t>(count * kPixels));
  Pixel* to = room.data();
  for (int64_t i = begin; i < begin + count; ++i) {
    for (int64_t y = 0; y < kSide; ++y) {
      const char* from = first + (i * image_stride_ + y * row_stride_) * kBytes;
      for (int64_t x = 0; x < kSide; ++x)
        std::memcpy(to++, from + x * column_stride_ * kBytes, sizeof(Pixel));
    }
  }
  return room.data();
}

template const uint8_t* ImageArray::slice(int64_t, int64_t, std::vector<uint8_t>&) const;
template const float* ImageArray::slice(int64_t, int64_t, std::vector<float>&) const;

}  // namespace lenslet::python
