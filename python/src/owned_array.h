// OwnedArray: values written by the library, in memory that a numpy array then owns.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
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
  }

  Value* data() noexcept { return values_.get(); }

  /// Passes the memory to a new array; needs the GIL. Call it once.
  nanobind::object to_python() {
    Value* values = values_.get();
    const nanobind::capsule owner(values,
                                  [](void* pointer) noexcept { delete[] static_cast<Value*>(pointer); });
    values_.release();
    using Array = nanobind::ndarray<nanobind::numpy, Value>;
    return nanobind::cast(Array(values, shape_.size(), shape_.data(), owner));
  }

 private:
  std::vector<size_t> shape_;
  std::unique_ptr<Value[]> values_;
};

}  // namespace lenslet::python
