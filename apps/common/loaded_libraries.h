// Which vendor libraries the modules opened so far stand on, without opening any.
#pragma once

#include <string>
#include <vector>

namespace lenslet {

struct LoadedLibrary {
  std::string name;  // "cuDNN", "cuDNN ops", "cuBLAS", "oneDNN"
  std::string
      version;       // as the module tells it; empty where asking could end the process (an incomplete cuDNN)
  std::string path;  // symbolic links resolved
};

/// Each library once, in the order of the modules' names.
std::vector<LoadedLibrary> loaded_libraries();

}  // namespace lenslet
