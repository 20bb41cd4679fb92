// Which vendor libraries this process has loaded: name, version and path, without loading any.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

struct LoadedLibrary {
  std::string name;     // "cudnn", "cudnn_ops", "cublas", "cublasLt", "dnnl", "cuda" (the driver)
  std::string version;  // as the library itself reports it; empty where it has no such call
  std::string path;     // symbolic links resolved
};

std::vector<LoadedLibrary> loaded_libraries();

}  // namespace lenslet
