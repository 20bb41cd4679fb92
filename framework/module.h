// Modules: backends whose libraries (cuBLAS, cuDNN, oneDNN) are opened on first use, so that a program starts
// without them and says clearly when they are missing.
//
// A module is a shared object that exports, with C linkage, `lenslet_module_abi` (a function returning
// kModuleAbiVersion) and getters of its own. It is opened with RTLD_NOW | RTLD_LOCAL and never closed.
#pragma once

#include <string>
#include <vector>

#include "framework/parallel.h"

namespace lenslet {

/// Changes with every change of a class that crosses the border to a module.
inline constexpr int kModuleAbiVersion = 4;

/// One vendor library a module stands on, as its exported function
///   int lenslet_library_info(ModuleLibrary* libraries, int capacity)
/// tells: it writes up to `capacity` rows and returns how many there are. The strings live as long as the module.
struct ModuleLibrary {
  const char* name;     // "cuBLAS"
  const char* version;  // "13.0.2"
  const char* path;     // of the file that the loader took
};

/// The folder of the program or shared library that holds this code, every link resolved; empty where the system does not
/// tell. Whatever name a program is started by, its modules and scripts are looked for from there.
std::string code_folder();

/// An opened shared object; it is never closed.
class Module {
 public:
  /// Opens `lenslet_<name>.so` once a process: from LENSLET_MODULE_PATH, else beside the program or library that holds this
  /// code, in `lenslet/` beside it, and where `cmake --install` puts modules, seen from the programs. Throws UnavailableError with the loader's own reason.
  static const Module& open(const std::string& name);
  /// The modules opened so far, in order of their names; opens none.
  static std::vector<const Module*> opened();
  /// Address of an exported function. Throws UnavailableError.
  void* symbol(const char* name) const;
  /// The file it was opened from.
  const std::string& path() const noexcept { return path_; }
  /// The vendor libraries behind it, with version and path, for `doctor` and result files.
  std::vector<ModuleLibrary> libraries() const;

 private:
  struct Registry;
  Module(std::string path, void* handle) : path_(std::move(path)), handle_(handle) {}
  std::string path_;
  void* handle_;
};

}  // namespace lenslet

/// Marks what a module exports.
#define LENSLET_MODULE_EXPORT extern "C" __attribute__((visibility("default")))
/// Goes once into every module.
#define LENSLET_DEFINE_MODULE() \
  LENSLET_MODULE_EXPORT int lenslet_module_abi() { return lenslet::kModuleAbiVersion; }
/// Goes into a module that computes on the CPU: it then uses the program's threads and their number.
#define LENSLET_MODULE_SHARES_THREADS()                                                      \
  LENSLET_MODULE_EXPORT void lenslet_module_use_threads(const lenslet::ParallelHost* host) { \
    lenslet::use_parallel_host(*host);                                                       \
  }
