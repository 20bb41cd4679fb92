// The vendor libraries of the modules opened so far. Opens no module.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

struct LoadedLibrary {
  std::string name;     // "cuDNN", "cuDNN ops", "cuBLAS", "oneDNN"
  std::string version;  // empty if the query could end the process (an incomplete cuDNN)
  std::string path;     // symbolic links resolved
};

/// Each library once, in the order of the module names.
std::vector<LoadedLibrary> loaded_libraries();

}  // namespace lenslet
