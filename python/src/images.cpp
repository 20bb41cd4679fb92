#include "python/src/images.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "framework/base/alignment.h"
#include "framework/base/error.h"
#include "framework/io/picture.h"
#include "models/lenet5.h"

namespace nb = nanobind;

namespace lenslet::python {
namespace {

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

// The expression that makes an array of `type` of what the caller passed as `name`; `scaled`: of values from 0 to 1.
std::string converted(nb::handle given, const std::string& name, const char* type, bool scaled = false) {
  const bool array = nb::hasattr(given, "astype"), torch = !array && nb::hasattr(given, "to");
  std::string value = array || torch                     ? name
                      : nb::hasattr(given, "__dlpack__") ? concat("numpy.from_dlpack(", name, ")")
                                                         : concat("numpy.asarray(", name, ")");
  if (scaled) value = concat("(", value, " * 255).round()");
  return concat(value, torch ? ".to(torch." : ".astype(numpy.", type, ")");
}

// How to make bytes or, unless `bytes_only`, normalised values of an array of another type.
std::string conversions(nb::handle given, const std::string& name, nb::dlpack::dtype type, bool bytes_only) {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(type.code);
  const std::string bytes = converted(given, name, "uint8");
  if (code == Code::Bool) return concat("convert with ", bytes, " * 255");
  if (code == Code::Complex) return concat("convert their real part, ", name, ".real, first");
  const std::string pixels = concat("pixels 0 to 255 with ", bytes);
  if (code != Code::Float && code != Code::Bfloat) return concat("convert ", pixels);
  return concat("convert ",
                bytes_only ? "" : concat("normalised values with ", converted(given, name, "float32"), ", "),
                pixels, ", pixels 0 to 1 with ", converted(given, name, "uint8", true));
}

// A masked array's own values would be read, also where the mask covers them.
void check_not_masked(nb::handle given, const std::string& name) {
  if (!nb::hasattr(given, "filled") || !nb::hasattr(given, "mask")) return;
  const auto masked = nb::cast<int64_t>(given.attr("mask").attr("sum")().attr("item")());
  if (masked == 0) return;
  throw nb::value_error(concat(name, ": expected an array without masked values, found ", masked,
                               " masked; fill them first, as ", name,
                               name == "picture" ? ".filled(255)" : ".filled(0)", " does")
                            .c_str());
}

// Whether it is an array of NumPy whose type no library shares: of objects or text, or in another order of bytes.
bool is_of_unshared_type(nb::handle given) {
  if (!nb::hasattr(given, "dtype") || !nb::hasattr(given.attr("dtype"), "isnative")) return false;
  const nb::object type = given.attr("dtype");
  const auto kind = nb::cast<std::string>(type.attr("kind"));
  return kind.find_first_of("OSUVMm") == 0 || !nb::cast<bool>(type.attr("isnative"));
}

nb::ndarray<nb::ro> array_of(nb::handle given, const std::string& name) {
  nb::ndarray<nb::ro> array;
  check_not_masked(given, name);
  if (!given.is_none() && nb::try_cast(given, array, false)) return array;
  if (is_of_unshared_type(given)) {
    const nb::object type = given.attr("dtype");
    throw nb::type_error(concat(name, ": an array of dtype ", nb::str(nb::handle(type)).c_str(),
                                " cannot be shared; convert bytes with ", converted(given, name, "uint8"),
                                ", other numbers with ", converted(given, name, "float32"))
                             .c_str());
  }
  if (nb::hasattr(given, "__dlpack__")) {
    try {
      given.attr("__dlpack__")();
    } catch (nb::python_error& error) {
      nb::raise_from(error, PyExc_TypeError, "%s: this %s cannot be shared: %s", name.c_str(),
                     type_of(given).c_str(), nb::str(error.value()).c_str());
    }
  }
  throw nb::type_error(
      concat(name, ": expected an array of numpy, or any with DLPack or the buffer protocol, found ",
             type_of(given))
          .c_str());
}

std::vector<int64_t> dims_of(const nb::ndarray<nb::ro>& array) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < array.ndim(); ++i) dims.push_back(static_cast<int64_t>(array.shape(i)));
  return dims;
}

bool holds_bytes(const nb::ndarray<nb::ro>& array) { return array.dtype() == nb::dtype<uint8_t>(); }

// Throws unless it lies in host memory and holds float32, or uint8 where `bytes` explains those.
void check_host_values(nb::handle given, const nb::ndarray<nb::ro>& array, const std::string& name,
                       const char* bytes) {
  const bool in_host_memory =
      array.device_type() == nb::device::cpu::value || array.device_type() == nb::device::cuda_host::value;
  if (!in_host_memory) {
    const bool cuda = array.device_type() == nb::device::cuda::value;
    throw nb::value_error(concat(name, ": expected host memory, found that of ",
                                 cuda ? concat("cuda:", array.device_id()) : std::string("another device"),
                                 "; copy them first, as .cpu() does for a torch.Tensor")
                              .c_str());
  }
  if (array.dtype() == nb::dtype<float>() || (bytes && holds_bytes(array))) return;
  throw nb::type_error(concat(name, ": expected ", bytes ? bytes : "float32", ", found ",
                              type_name(array.dtype()), "; ",
                              bytes ? conversions(given, name, array.dtype(), !std::strstr(bytes, "float32"))
                                    : concat("convert with ", converted(given, name, "float32")))
                           .c_str());
}

void check_bytes(nb::handle given, const nb::ndarray<nb::ro>& array, const std::string& name) {
  const char* const expected = "uint8 (pixels 0 to 255)";
  check_host_values(given, array, name, expected);
  if (holds_bytes(array)) return;
  throw nb::type_error(concat(name, ": expected ", expected, ", found float32; ",
                              conversions(given, name, array.dtype(), true))
                           .c_str());
}

}  // namespace

std::string text_of_dims(const std::vector<int64_t>& dims, const char* first) {
  std::string text = concat("[", first);
  for (size_t i = 0; i < dims.size(); ++i) text += concat(i > 0 || *first ? ", " : "", dims[i]);
  return text + "]";
}

size_t check_image_dims(const std::vector<int64_t>& dims) {
  constexpr auto kSide = int64_t{kLenet5Side};
  const size_t rank = dims.size();
  const size_t last = rank == 4 && dims[3] == 1 ? 3 : rank;  // of the sides, as Keras orders a batch
  const bool fits = rank >= 2 && rank <= 4 && dims[last - 1] == kSide && dims[last - 2] == kSide &&
                    (last < 4 || dims[1] == 1);
  if (fits) return rank == 2 ? 0 : 1;
  throw nb::value_error(
      concat("images: expected the shape [N, 28, 28], [N, 1, 28, 28], [N, 28, 28, 1] or [28, 28], found ",
             text_of_dims(dims))
          .c_str());
}

size_t check_packed_dims(const std::vector<int64_t>& dims) {
  constexpr auto kSide = int64_t{kLenet5Side};
  const size_t rank = dims.size();
  if ((rank == 2 || rank == 3) && dims[rank - 2] == kSide && dims[rank - 1] == kSide / 2) return rank - 2;
  throw nb::value_error(
      concat("images: expected the shape [N, 28, 14] or [28, 14] of packed pixels, as lenslet.pack() returns "
             "them, found ",
             text_of_dims(dims))
          .c_str());
}

size_t check_input_dims(const std::vector<int64_t>& dims, const Shape& sample) {
  const std::vector<int64_t> expected = sample.dims();
  const size_t first_dim = dims.size() == expected.size() ? 0 : 1;
  if (dims.size() == expected.size() + first_dim &&
      std::equal(expected.begin(), expected.end(), dims.begin() + static_cast<std::ptrdiff_t>(first_dim)))
    return first_dim;
  throw nb::value_error(concat("inputs: expected the shape ", text_of_dims(expected, "N"), " or ",
                               text_of_dims(expected), ", found ", text_of_dims(dims))
                            .c_str());
}

SampleArray SampleArray::images(nb::handle given) {
  const std::string name = "images";
  Array array = array_of(given, name);
  check_host_values(given, array, name, "uint8 (pixels 0 to 255) or float32 (normalised)");
  const size_t first_dim = check_image_dims(dims_of(array));
  const ElementType type = holds_bytes(array) ? ElementType::kUint8 : ElementType::kFp32;
  return {std::move(array), first_dim, type};
}

SampleArray SampleArray::pixels(nb::handle given) {
  const std::string name = "images";
  Array array = array_of(given, name);
  const size_t first_dim = check_image_dims(dims_of(array));
  check_bytes(given, array, name);
  return {std::move(array), first_dim, ElementType::kUint8};
}

SampleArray SampleArray::packed(nb::handle given) {
  const std::string name = "images";
  Array array = array_of(given, name);
  if (!holds_bytes(array)) {
    throw nb::type_error(concat("images: expected uint8 (two pixels in a byte) for dtype=\"uint4\", found ",
                                type_name(array.dtype()), "; pack pixels with lenslet.pack()")
                             .c_str());
  }
  check_host_values(given, array, name, "uint8 (two pixels in a byte)");
  const size_t first_dim = check_packed_dims(dims_of(array));
  return {std::move(array), first_dim, ElementType::kUint4};
}

SampleArray SampleArray::picture(nb::handle given) {
  const std::string name = "picture";
  Array array = array_of(given, name);
  check_bytes(given, array, name);
  const std::vector<int64_t> dims = dims_of(array);
  const bool pixels = dims.size() == 2 || (dims.size() == 3 && dims[2] >= 1 && dims[2] <= 4);
  const auto limits = PictureLimits();
  const bool fits =
      dims.size() == 1 || (pixels && dims[0] > 0 && dims[1] > 0 && dims[0] <= limits.max_pixels / dims[1]);
  if (!fits) {
    throw nb::value_error(concat("picture: expected the shape [H, W] or [H, W, 1 to 4], of 1 to ",
                                 limits.max_pixels, " pixels, found ", text_of_dims(dims))
                              .c_str());
  }
  return {std::move(array), 0, ElementType::kUint8};
}

SampleArray SampleArray::inputs(nb::handle given, const Shape& sample) {
  const std::string name = "inputs";
  Array array = array_of(given, name);
  check_host_values(given, array, name, nullptr);
  const size_t first_dim = check_input_dims(dims_of(array), sample);
  return {std::move(array), first_dim, ElementType::kFp32};
}

SampleArray::SampleArray(Array array, size_t first_dim, ElementType type)
    : array_(std::move(array)),
      first_dim_(first_dim),
      type_(type),
      has_batch_(first_dim > 0),
      count_(has_batch_ ? static_cast<int64_t>(array_.shape(0)) : 1) {
  bool without_gaps = true;
  for (size_t i = array_.ndim(); i-- > first_dim_;) {
    without_gaps = without_gaps && (array_.shape(i) == 1 || array_.stride(i) == sample_values_);
    sample_values_ *= static_cast<int64_t>(array_.shape(i));
  }
  if (count_ > 1) without_gaps = without_gaps && array_.stride(0) == sample_values_;
  const bool aligned = type_ != ElementType::kFp32 || is_aligned(array_.data(), alignof(float));
  in_order_ = aligned && without_gaps;
}

std::vector<size_t> SampleArray::shape() const {
  std::vector<size_t> shape;
  for (size_t i = 0; i < array_.ndim(); ++i) shape.push_back(array_.shape(i));
  return shape;
}

template <typename Value>
Value* SampleArray::copy_in_order(const char* from, size_t dim, Value* to) const {
  const auto extent = static_cast<int64_t>(dim < array_.ndim() ? array_.shape(dim) : 1);
  const int64_t step = dim < array_.ndim() ? array_.stride(dim) * static_cast<int64_t>(sizeof(Value)) : 0;
  if (dim + 1 < array_.ndim()) {
    for (int64_t i = 0; i < extent; ++i) to = copy_in_order(from + i * step, dim + 1, to);
  } else {
    for (int64_t i = 0; i < extent; ++i) std::memcpy(to++, from + i * step, sizeof(Value));
  }
  return to;
}

template <typename Value>
const Value* SampleArray::as_given(int64_t begin, int64_t count, std::vector<Value>& room) const {
  // In bytes, because an array may begin at any address, where an element is no aligned Value.
  const auto* first = static_cast<const char*>(array_.data());
  constexpr int64_t kBytes = sizeof(Value);
  if (in_order_) return reinterpret_cast<const Value*>(first + begin * sample_values_ * kBytes);
  room.resize(static_cast<size_t>(count * sample_values_));
  Value* to = room.data();
  for (int64_t i = begin; i < begin + count; ++i)
    to = copy_in_order(first + (has_batch_ ? i * array_.stride(0) * kBytes : 0), first_dim_, to);
  return room.data();
}

template <typename Value>
const Value* SampleArray::slice(int64_t begin, int64_t count, std::vector<Value>& room) const {
  const Value* const values = as_given(begin, count, room);
  if (is_in_place()) return values;
  if (in_order_) room.assign(values, values + count * sample_values_);
  if (inverted_from_) {
    for (Value& value : room) value = static_cast<Value>(*inverted_from_ - static_cast<float>(value));
  }
  return room.data();
}

template <typename Value>
void SampleArray::look_at(ImageCheck& check) const {
  const int64_t looked_at = std::min(count_, ImageCheck::kMaxLookedAt);
  std::vector<Value> room;
  for (int64_t i = 0; i < looked_at; ++i) check.look_at(as_given(i * count_ / looked_at, 1, room));
}

void SampleArray::check_images(nb::handle given, const Normalisation& normalisation) const {
  const bool inverted = inverted_from_.has_value();
  ImageCheck check(inverted);
  if (type_ == ElementType::kUint8) {
    look_at<uint8_t>(check);
  } else if (type_ == ElementType::kUint4) {
    look_at<PixelPair>(check);
  } else {
    check = ImageCheck(normalisation, inverted);
    std::vector<float> room;
    const int64_t part = in_order_ ? std::max<int64_t>(count_, 1) : ImageCheck::kMaxLookedAt;
    for (int64_t begin = 0; begin < count_; begin += part) {
      const int64_t size = std::min(part, count_ - begin);
      check.look_for_numbers(as_given(begin, size, room), begin, size);
    }
    look_at<float>(check);
  }
  const std::string complaint = check.complaint();
  if (complaint.empty()) return;
  const std::string name = "images";
  const std::string bytes = converted(given, name, "uint8", check.are_shares());
  const std::string remedy =
      !check.are_numbers()  ? "numbers in place of such values"
      : !check.are_pixels() ? concat("invert=", inverted ? "False" : "True", " to exchange dark and bright")
                            : concat(bytes, ", or lenslet.normalize() of that");
  throw nb::value_error(concat(complaint, ". Pass ", remedy, ", or check=False to skip the check").c_str());
}

template const uint8_t* SampleArray::slice(int64_t, int64_t, std::vector<uint8_t>&) const;
template const PixelPair* SampleArray::slice(int64_t, int64_t, std::vector<PixelPair>&) const;
template const float* SampleArray::slice(int64_t, int64_t, std::vector<float>&) const;

}  // namespace lenslet::python
