// The convolution backends of this build, in rank order, from the rows of layers/conv/CMakeLists.txt.
#pragma once

#include <string>
#include <vector>

#include "framework/device.h"
#include "layers/conv/conv_backend.h"

namespace lenslet {

/// One row. A built-in backend is always available. A module is opened on first use, which may fail. A row without code
/// in this build has the reason (library not found at configure time).
class ConvBackendEntry {
 public:
  /// In the library, in a shared object opened on first use, or without code in this build.
  enum class Kind { kBuiltIn, kModule, kNotBuilt };
  /// The function that a backend's file defines in lenslet::conv_backends.
  using Getter = const ConvBackend& (*)();

  /// `getter` for a built-in backend; `why_not` for one that was not built.
  ConvBackendEntry(DeviceKind device, const char* name, Kind kind, Getter getter, const char* why_not)
      : device_(device), name_(name), kind_(kind), getter_(getter), why_not_(why_not) {}
  /// The kind of device that it computes on.
  DeviceKind device() const noexcept { return device_; }
  /// File name and backend name: "winograd".
  const std::string& name() const noexcept { return name_; }
  /// Where its code is.
  Kind kind() const noexcept { return kind_; }
  /// The backend; opens its module if necessary. Throws UnavailableError with the reason if it is unavailable.
  const ConvBackend& open() const;
  /// open(), then ConvBackend::supports(); never throws.
  Support supports(const Conv2dProblem& problem, MathMode math) const;

 private:
  DeviceKind device_;
  std::string name_;
  Kind kind_;
  Getter getter_;
  std::string why_not_;
};

/// All rows for that kind of device, in rank order.
const std::vector<ConvBackendEntry>& conv_backend_rows(DeviceKind device);
/// The row of that name. Throws UsageError with the legal names; UnavailableError if only the other kind of device has
/// it.
const ConvBackendEntry& find_conv_backend(DeviceKind device, const std::string& name);

}  // namespace lenslet
