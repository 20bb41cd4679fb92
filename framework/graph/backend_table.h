// BackendTable: the backends of one kind of operation, in rank order.
//
// A backend is one source file and one row, `lenslet_backend(KIND DEVICE NAME)`, in the CMake list of its folder. CMake
// writes the rows to a generated source (cmake/LensletBackend.cmake); layers, listings, tests and tuner iterate it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/device/device.h"

namespace lenslet {

/// One entry. A built-in backend is always available. A module is opened on first use, which may fail. One without code
/// in this build has the reason.
class BackendEntry {
 public:
  /// Built in, in a shared object opened on first use, or without code in this build.
  enum class Kind { kBuiltIn, kModule, kNotBuilt };

  /// `text` is the module's name, or the reason why the backend was not built.
  BackendEntry(DeviceKind device, const char* name, Kind kind, const char* text)
      : device_(device), name_(name), kind_(kind), text_(text) {}
  virtual ~BackendEntry() = default;
  /// The kind of device that it computes on.
  DeviceKind device() const noexcept { return device_; }
  /// File name and backend name: "winograd".
  const std::string& name() const noexcept { return name_; }
  /// Fixed by its row and by the libraries found at configure time; a module may still fail to open (available()).
  Kind kind() const noexcept { return kind_; }
  /// Whether it is the interface to a library, which may allocate in run(). A built-in backend allocates nothing there,
  /// unless it calls a backend that is a module, such as a matrix product's.
  bool is_module() const noexcept { return kind_ == Kind::kModule; }
  /// Yes, or no with the reason why its code is unavailable; opens its module if necessary.
  virtual Support available() const { return Support::yes(); }

 protected:
  /// The getter that the module exports. Throws UnavailableError with the reason, also for a backend without code.
  void* open_getter() const;

 private:
  DeviceKind device_;
  std::string name_;
  Kind kind_;
  std::string text_;
};

/// An entry of the kind of operation whose backends are of class `Backend`.
template <class Backend>
class BackendEntryOf : public BackendEntry {
 public:
  /// What a built-in backend's file defines with LENSLET_BACKEND, and a module exports as `lenslet_KIND_backend`.
  using Getter = const Backend& (*)();
  /// A built-in backend.
  BackendEntryOf(DeviceKind device, const char* name, Getter getter)
      : BackendEntry(device, name, Kind::kBuiltIn, ""), getter_(getter) {}
  using BackendEntry::BackendEntry;

  /// The backend; opens its module if necessary. Throws UnavailableError with the reason if it is unavailable.
  const Backend& open() const {
    return getter_ ? getter_() : *reinterpret_cast<const Backend* (*)()>(open_getter())();
  }
  Support available() const override {
    try {
      open();
      return Support::yes();
    } catch (const Error& error) {
      return Support::no(error.what());
    }
  }
  /// open(), then Backend::supports(); returns no if either throws.
  template <class... Problem>
  Support supports(const Problem&... problem) const {
    try {
      return open().supports(problem...);
    } catch (const Error& error) {
      return Support::no(error.what());
    }
  }

 private:
  Getter getter_ = nullptr;
};

/// UsageError with the legal names; UnavailableError if only the other kind of device has the name.
[[noreturn]] void throw_no_backend(const char* kind, DeviceKind device, const std::string& name,
                                   const std::vector<std::string>& cpu, const std::vector<std::string>& cuda);

/// All entries of one kind of operation. Use the tables that CMake generates: conv_table(), linear_table(), …
template <class Backend>
class BackendTable {
 public:
  using Entry = BackendEntryOf<Backend>;  ///< A backend of this kind.
  /// In rank order, for both kinds of device.
  BackendTable(const char* kind, const std::vector<Entry>& entries) : kind_(kind) {
    for (const Entry& entry : entries) (entry.device() == DeviceKind::kCpu ? cpu_ : cuda_).push_back(entry);
  }
  /// The entries for that kind of device, in rank order.
  const std::vector<Entry>& entries(DeviceKind device) const noexcept {
    return device == DeviceKind::kCpu ? cpu_ : cuda_;
  }
  /// Like entries(), for Layer::backend_entries().
  std::vector<const BackendEntry*> entry_pointers(DeviceKind device) const {
    std::vector<const BackendEntry*> pointers;
    for (const Entry& entry : entries(device)) pointers.push_back(&entry);
    return pointers;
  }
  /// The names for that kind of device, in rank order, also of backends whose code is unavailable.
  std::vector<std::string> names(DeviceKind device) const {
    std::vector<std::string> names;
    for (const Entry& entry : entries(device)) names.push_back(entry.name());
    return names;
  }
  /// The entry of that name. Throws UsageError with the legal names; UnavailableError if only the other kind of device
  /// has it.
  const Entry& find(DeviceKind device, const std::string& name) const {
    for (const Entry& entry : entries(device)) {
      if (entry.name() == name) return entry;
    }
    throw_no_backend(kind_, device, name, names(DeviceKind::kCpu), names(DeviceKind::kCuda));
  }

 private:
  const char* kind_;
  std::vector<Entry> cpu_, cuda_;
};

}  // namespace lenslet

/// Place it once at the end of a built-in backend's file, inside namespace lenslet: defines the getter that the row
/// names. `where_name` is the device and the file, `cpu_direct`; the rest makes the object, which lives for ever.
#define LENSLET_BACKEND(kind, where_name, ...) \
  namespace kind##_backends {                  \
    const Interface& where_name();             \
    const Interface& where_name() {            \
      static const auto backend = __VA_ARGS__; \
      return backend;                          \
    }                                          \
  }
