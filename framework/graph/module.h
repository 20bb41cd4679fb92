// Modules: backends whose libraries (cuBLAS, cuDNN, oneDNN) are opened on first use. A program thus starts without them
// and reports when they are missing.
//
// A module is a shared object that exports, with C linkage, `lenslet_module_abi` (a function returning
// kModuleAbiVersion) and getters of its own. It is opened with RTLD_NOW | RTLD_LOCAL and never closed.
#pragma once

#include <string>
#include <vector>

#include "framework/base/parallel.h"

namespace lenslet {

/// Increase it with every change of a class that programs and modules share.
inline constexpr int kModuleAbiVersion = 6;

/// One vendor library that a module uses. A module exports
///   int lenslet_library_info(ModuleLibrary* libraries, int capacity)
/// which writes up to `capacity` rows and returns their total number. The strings live as long as the module.
struct ModuleLibrary {
  const char* name;     // "cuBLAS"
  const char* version;  // "13.0.2"
  const char* path;     // of the file that the loader took
};

/// The folder of the program or shared library that contains this code, with all links resolved; empty if it is
/// unknown. Modules and scripts are searched relative to it. The name by which a program is started has no influence.
std::string code_folder();

/// An opened shared object; it is never closed.
class Module {
 public:
  /// Opens `lenslet_<name>.so` once per process. Searches LENSLET_MODULE_PATH; if it is unset or empty, the folder of
  /// the program or library that contains this code, `lenslet/` beside it, and where `cmake --install` puts modules
  /// relative to the programs. Throws UnavailableError with the loader's reason.
  static const Module& open(const std::string& name);
  /// The modules opened so far, in order of their names; opens none.
  static std::vector<const Module*> opened();
  /// Address of an exported function. Throws UnavailableError.
  void* symbol(const char* name) const;
  /// The file it was opened from.
  const std::string& path() const noexcept { return path_; }
  /// The vendor libraries of the module with version and path, for `doctor` and result files.
  std::vector<ModuleLibrary> libraries() const;

 private:
  struct Registry;
  Module(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}
  std::string path_;
  void* handle_;
};

}  // namespace lenslet

/// Marks an exported function of a module.
#define LENSLET_MODULE_EXPORT extern "C" __attribute__((visibility("default")))
/// Place it once in every module: defines the ABI version.
#define LENSLET_DEFINE_MODULE() \
  LENSLET_MODULE_EXPORT int lenslet_module_abi() { return lenslet::kModuleAbiVersion; }
/// Place it in a module that computes on the CPU: the module then uses the program's threads.
#define LENSLET_MODULE_SHARES_THREADS()                                                      \
  LENSLET_MODULE_EXPORT void lenslet_module_use_threads(const lenslet::ParallelHost* host) { \
    lenslet::use_parallel_host(*host);                                                       \
  }
