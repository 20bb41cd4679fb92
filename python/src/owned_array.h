// OwnedArray: values written by the library, in memory that a numpy array then owns, or in the caller's `out=`.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace lenslet::python {

template <typename Value>
class OwnedArray {
 public:
  /// Values are undefined until written. Throws std::bad_alloc.
  explicit OwnedArray(std::vector<size_t> shape) : shape_(std::move(shape)) {
    size_t size = 1;
    for (const size_t extent : shape_) size *= extent;
    values_.reset(new Value[size]);
    data_ = values_.get();
  }

  /// Writes to `out` in place; allocates, like the other constructor, if `out` is None. Throws TypeError or ValueError,
  /// with `name` in the message, unless `out` is a writable contiguous array of that shape in host memory.
  OwnedArray(std::vector<size_t> shape, nanobind::handle out, const char* name) {
    if (out.is_none()) {
      *this = OwnedArray(std::move(shape));
      return;
    }
    if (!nanobind::try_cast(out, given_, false)) {
      throw nanobind::type_error((std::string(name) + ": expected a writable array of " + type_name() +
                                  " in order (contiguous) in host memory, found " + describe(out))
                                     .c_str());
    }
    bool fits = given_.ndim() == shape.size();
    std::string expected;
    for (size_t i = 0; i < shape.size(); ++i) {
      fits = fits && given_.shape(i) == shape[i];
      expected += (i > 0 ? ", " : "") + std::to_string(shape[i]);
    }
    if (!fits) {
      throw nanobind::value_error(
          (std::string(name) + ": expected the shape [" + expected + "], found " + describe(out)).c_str());
    }
    out_ = nanobind::borrow(out);
    data_ = given_.data();
  }

  Value* data() noexcept { return data_; }

  /// The caller's array, or a new one that gets the memory; needs the GIL. Call it once.
  nanobind::object to_python() {
    if (out_) return std::move(out_);
    Value* values = values_.get();
    const nanobind::capsule owner(values,
                                  [](void* pointer) noexcept { delete[] static_cast<Value*>(pointer); });
    values_.release();
    using Array = nanobind::ndarray<nanobind::numpy, Value>;
    return nanobind::cast(Array(values, shape_.size(), shape_.data(), owner));
  }

 private:
  static const char* type_name() { return std::is_same_v<Value, float> ? "float32" : "int32"; }

  // "ndarray of float64 (3, 10)".
  static std::string describe(nanobind::handle object) {
    std::string text = nanobind::str(object.type().attr("__name__")).c_str();
    for (const char* const what : {"dtype", "shape"}) {
      if (!nanobind::hasattr(object, what)) continue;
      const nanobind::object value = object.attr(what);
      text += (*what == 'd' ? " of " : " ") + std::string(nanobind::str(nanobind::handle(value)).c_str());
    }
    return text;
  }

  std::vector<size_t> shape_;
  std::unique_ptr<Value[]> values_;
  nanobind::ndarray<Value, nanobind::c_contig, nanobind::device::cpu> given_;
  nanobind::object out_;
  Value* data_ = nullptr;
};

}  // namespace lenslet::python
