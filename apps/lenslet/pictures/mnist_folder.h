// Finds the MNIST folder.
#pragma once

#include <string>
#include <vector>

#include "apps/common/output/output.h"

namespace lenslet {

/// `requested`, else LENSLET_MNIST_DIR, else ./data if it exists; else empty. Does not check the files.
std::string find_mnist_folder(const std::string& requested);
/// The MNIST files of the chosen folder, named for the option or variable that chose it.
std::vector<NamedFile> mnist_files(const std::string& requested);

}  // namespace lenslet
