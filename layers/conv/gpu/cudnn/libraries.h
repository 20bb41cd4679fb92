// The loaded cuDNN and its completeness. Internal to the module cudnn.
#pragma once

#include <cudnn.h>
#include <dlfcn.h>
#include <link.h>

#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet {

/// One of cuDNN's libraries as it was loaded.
struct CudnnLibrary {
  std::string name, version, path;
};

inline std::string version_text(size_t version) {
  return concat(version / 10000, ".", version / 100 % 100, ".", version % 100);
}

// libcudnn opens its parts by name at the first call that needs them, and ends the process if one is missing. So all
// parts that a convolution can need are opened here first, and a missing one is reported as an error. A part that the
// loader finds in another folder than libcudnn belongs to another cuDNN and would crash later, so it is refused too.
class CudnnLibraries {
 public:
  static const CudnnLibraries& get() {
    static const CudnnLibraries libraries;
    return libraries;
  }
  /// Why the libraries are unusable; empty if they are usable.
  const std::string& problem() const noexcept { return problem_; }
  const std::vector<CudnnLibrary>& rows() const noexcept { return rows_; }

 private:
  CudnnLibraries() {
    Dl_info info{};
    const bool known =
        dladdr(reinterpret_cast<const void*>(&cudnnCreate), &info) != 0 && info.dli_fname != nullptr;
    const std::string own_file = known ? info.dli_fname : "libcudnn",
                      own_path = real_path(own_file, own_file);
    const std::string folder = folder_of(own_path);
    rows_.push_back({"cuDNN", "", own_path});
    std::string missing, elsewhere;
    for (const char* part :
         {"graph", "ops", "cnn", "heuristic", "engines_precompiled", "engines_runtime_compiled"}) {
      const std::string file = concat("libcudnn_", part, ".so.", CUDNN_MAJOR);
      void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!handle)
        handle = dlopen((folder_of(known ? info.dli_fname : "") + file).c_str(), RTLD_NOW | RTLD_LOCAL);
      if (!handle) {
        const char* reason = dlerror();
        add_clause(missing, reason ? reason : file);
        continue;
      }
      link_map* map = nullptr;
      const bool found = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr;
      const std::string taken = found ? map->l_name : file, path = real_path(taken, taken);
      rows_.push_back({concat("cuDNN ", part), "", path});
      if (folder_of(path) != folder) elsewhere += concat(elsewhere.empty() ? "" : ", ", path);
    }
    if (!missing.empty()) {
      problem_ = concat("cuDNN at ", own_path, " is incomplete: ", missing, "; install all of its libraries");
      return;  // from now on, a call into it could end the process
    }
    if (!elsewhere.empty()) {
      problem_ = concat("parts of two cuDNNs would mix: libcudnn is ", own_path, ", but the loader takes ",
                        elsewhere, "; leave one of them on the library path");
      return;
    }
    const std::string version = version_text(cudnnGetVersion());
    for (CudnnLibrary& row : rows_) row.version = version;
    if (cudnnGraphVersionCheck() != CUDNN_STATUS_SUCCESS || cudnnOpsVersionCheck() != CUDNN_STATUS_SUCCESS ||
        cudnnCnnVersionCheck() != CUDNN_STATUS_SUCCESS) {
      problem_ = concat("the libraries of cuDNN in ", folder, " are of different versions (libcudnn reports ",
                        version, "); install one version");
    }
  }

  std::string problem_;
  std::vector<CudnnLibrary> rows_;
};

}  // namespace lenslet
