// DlpackExchange: the functions that a library offers on its array type, so that arrays pass without a capsule and
// without Python code: dlpack.h of DLPack 1.3, "DLPackExchangeAPI".
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>

namespace lenslet::python {

/// The part of DLPackExchangeAPI that is used. All functions return 0, or set a Python error.
struct DlpackExchange {
  uint32_t major, minor;  ///< The version of DLPack; another `major` has another layout from here on.
  const void* older;      ///< Not used, like the next three: making and owning arrays.
  void (*allocate)();
  void (*export_owned)();
  void (*import_owned)();
  /// Describes an array of the type that offers this. The array keeps the memory, the shape and the strides. May be
  /// null.
  int (*describe)(void* object, nanobind::dlpack::dltensor* view);
  /// The stream on which the library enqueues work of a device now.
  int (*current_stream)(int32_t device_type, int32_t ordinal, void** stream);
};

/// The functions of an array type; null if it offers none, or those of another version of DLPack.
inline const DlpackExchange* dlpack_exchange(nanobind::handle type) {
  constexpr const char* kCapsule = "dlpack_exchange_api";
  constexpr uint32_t kMajor = 1;
  const nanobind::object capsule = nanobind::getattr(type, "__dlpack_c_exchange_api__", nanobind::none());
  if (!PyCapsule_IsValid(capsule.ptr(), kCapsule)) return nullptr;
  // The library keeps them as long as the process runs.
  const auto* const exchange =
      static_cast<const DlpackExchange*>(PyCapsule_GetPointer(capsule.ptr(), kCapsule));
  return exchange->major == kMajor && exchange->describe ? exchange : nullptr;
}

}  // namespace lenslet::python
