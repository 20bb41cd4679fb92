// Where MNIST lies.
#pragma once

#include <string>
#include <vector>

#include "apps/common/output.h"

namespace lenslet {

/// `asked`, else LENSLET_MNIST_DIR, else ./data where there is such a folder; empty for none. Looks at no file.
std::string find_mnist_folder(const std::string& asked);
/// The files that may be read there, under the name of what chose the folder.
std::vector<NamedFile> mnist_files(const std::string& asked);

}  // namespace lenslet
