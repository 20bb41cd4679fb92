#include "apps/common/loaded_libraries.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <memory>

#include "framework/error.h"

namespace lenslet {
namespace {

// "cudnn_ops" from ".../libcudnn_ops.so.9"; empty for a library that is none of ours.
std::string library_name(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string file = slash == std::string::npos ? path : path.substr(slash + 1);
  const size_t end = file.find(".so");
  if (file.rfind("lib", 0) != 0 || end == std::string::npos) return {};
  std::string name = file.substr(3, end - 3);
  for (const char* wanted : {"cudnn", "cublas", "nvrtc", "dnnl"}) {
    if (name.rfind(wanted, 0) == 0) return name;
  }
  return name == "cuda" ? name : std::string();
}

// Each library tells its version by a call of its own; these need no device.
std::string version_of(const std::string& name, void* handle) {
  const auto dotted = [](long a, long b, long c) { return concat(a, ".", b, ".", c); };
  if (name == "dnnl") {
    struct Version {
      int major, minor, patch;
      const char* hash;
      unsigned cpu_runtime, gpu_runtime;
    };
    if (auto* get = reinterpret_cast<const Version* (*)()>(::dlsym(handle, "dnnl_version"))) {
      const Version* version = get();
      return dotted(version->major, version->minor, version->patch);
    }
  }
  if (name.rfind("cudnn", 0) == 0) {
    const std::string call = name == "cudnn" ? "cudnnGetVersion" : "";
    if (auto* get = call.empty() ? nullptr : reinterpret_cast<size_t (*)()>(::dlsym(handle, call.c_str()))) {
      const auto version = static_cast<long>(get());  // 91900 for 9.19.0
      return dotted(version / 10000, version / 100 % 100, version % 100);
    }
  }
  if (name == "cublas") {
    if (auto* get = reinterpret_cast<int (*)(int, int*)>(::dlsym(handle, "cublasGetProperty"))) {
      int part[3] = {};
      for (int i = 0; i < 3; ++i) get(i, &part[i]);  // MAJOR_VERSION, MINOR_VERSION, PATCH_LEVEL
      return dotted(part[0], part[1], part[2]);
    }
  }
  if (name == "cublasLt") {
    if (auto* get = reinterpret_cast<size_t (*)()>(::dlsym(handle, "cublasLtGetVersion"))) {
      const auto version = static_cast<long>(get());  // 130100 for 13.1.0
      return dotted(version / 10000, version / 100 % 100, version % 100);
    }
  }
  return {};
}

int collect_path(dl_phdr_info* info, size_t, void* paths) {
  if (info->dlpi_name != nullptr && info->dlpi_name[0] != '\0') {
    static_cast<std::vector<std::string>*>(paths)->emplace_back(info->dlpi_name);
  }
  return 0;
}

}  // namespace

std::vector<LoadedLibrary> loaded_libraries() {
  std::vector<std::string> paths;
  ::dl_iterate_phdr(collect_path, &paths);
  std::vector<LoadedLibrary> libraries;
  for (const std::string& path : paths) {
    const std::string name = library_name(path);
    if (name.empty()) continue;
    LoadedLibrary library{name, "", path};
    if (void* handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD)) {
      library.version = version_of(name, handle);
      ::dlclose(handle);
    }
    if (char* resolved = ::realpath(path.c_str(), nullptr)) {
      library.path = resolved;
      std::free(resolved);
    }
    libraries.push_back(std::move(library));
  }
  return libraries;
}

}  // namespace lenslet
