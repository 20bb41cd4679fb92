// Internal to the C interface: checks of arguments, and exceptions turned into a status and a line of text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <initializer_list>
#include <new>
#include <string>
#include <vector>

#include "api/lenslet.h"
#include "api/model.h"
#include "framework/base/error.h"
#include "framework/base/lists.h"
#include "framework/version.h"

struct lenslet_model {
  /// lenslet_options.images.
  enum class Images { kCheck, kInvert, kAny };

  lenslet::Model model;
  std::string device, device_name;
  Images images;
};

namespace lenslet::c {

/// Copies at most `capacity` bytes with the NUL, and cuts no UTF-8 sequence.
void cut_copy(char* to, size_t capacity, const char* from, size_t length) noexcept;

/// Keeps the message for lenslet_last_error(); returns the status.
lenslet_status fail(lenslet_status status, const char* message) noexcept;

/// The status of an exception.
lenslet_status status_of(ExitCode code) noexcept;

template <typename Body>
lenslet_status guarded(Body&& body) noexcept {
  try {
    body();
    return LENSLET_OK;
  } catch (const Error& error) {
    return fail(status_of(error.exit_code()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(LENSLET_ERROR_MEMORY, "out of memory; a smaller max_batch needs less");
  } catch (const std::exception& error) {
    return fail(LENSLET_ERROR_INTERNAL, error.what());
  } catch (...) {
    return fail(LENSLET_ERROR_INTERNAL, "an exception of unknown type");
  }
}

static_assert(sizeof(lenslet_prediction) == sizeof(Prediction) &&
                  offsetof(lenslet_prediction, label) == offsetof(Prediction, label) &&
                  offsetof(lenslet_prediction, probability) == offsetof(Prediction, probability),
              "predictions are written to the caller's memory as they are");
inline Prediction* as_predictions(lenslet_prediction* predictions) {
  return reinterpret_cast<Prediction*>(predictions);
}

/// Packed pixels as C passes them.
inline const PixelPair* as_pairs(const uint8_t* packed) { return reinterpret_cast<const PixelPair*>(packed); }

template <typename T>
T& check_not_null(T* pointer, const char* name) {
  if (!pointer) throw UsageError(concat(name, " must not be a null pointer"));
  return *pointer;
}

/// A caller states the size of its struct, and so its version. Throws UsageError unless `size` is one of `accepted`,
/// the sizes of all versions: any other one would cut a field.
inline void check_struct_size(const char* what, const char* name, size_t size,
                              std::initializer_list<size_t> accepted, const char* remedy) {
  if (std::find(accepted.begin(), accepted.end(), size) != accepted.end()) return;
  std::vector<std::string> sizes;
  sizes.reserve(accepted.size());
  for (const size_t one : accepted) sizes.push_back(std::to_string(one));
  throw UsageError(concat(what, " is ", size, ", lenslet ", kVersion, " accepts a ", name, " of ",
                          listed(sizes, "or"), " bytes: ", remedy,
                          ", and use a library that is not older than its header"));
}

}  // namespace lenslet::c
