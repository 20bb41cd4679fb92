// The library information of modules that use oneDNN (framework/graph/module.h). Internal: only these modules include
// it.
#pragma once

#include <dlfcn.h>
#include <dnnl.h>

#include "framework/base/error.h"
#include "framework/graph/module.h"

namespace lenslet {

/// The body of the module's lenslet_library_info.
inline int onednn_library_info(ModuleLibrary* libraries, int capacity) {
  static const std::string version =
      concat(dnnl_version()->major, ".", dnnl_version()->minor, ".", dnnl_version()->patch);
  static const std::string path = [] {
    Dl_info info{};
    const bool found =
        dladdr(reinterpret_cast<const void*>(&dnnl_version), &info) != 0 && info.dli_fname != nullptr;
    return std::string(found ? info.dli_fname : "unknown");
  }();
  if (capacity > 0) libraries[0] = {"oneDNN", version.c_str(), path.c_str()};
  return 1;
}

}  // namespace lenslet
