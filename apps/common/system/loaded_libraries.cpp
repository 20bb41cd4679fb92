#include "apps/common/system/loaded_libraries.h"

#include <algorithm>

#include "framework/base/text.h"
#include "framework/graph/module.h"

namespace lenslet {

// Queries the modules, never the libraries: a call into a cuDNN with missing parts ends the process, and only its
// module can check whether the parts are present.
std::vector<LoadedLibrary> loaded_libraries() {
  std::vector<LoadedLibrary> libraries;
  for (const Module* module : Module::opened()) {
    for (const ModuleLibrary& row : module->libraries()) {
      LoadedLibrary library{row.name, row.version, real_path(row.path, row.path)};
      const bool known = std::any_of(libraries.begin(), libraries.end(), [&](const LoadedLibrary& other) {
        return other.name == library.name && other.path == library.path;  // two modules use oneDNN
      });
      if (!known) libraries.push_back(std::move(library));
    }
  }
  return libraries;
}

}  // namespace lenslet
