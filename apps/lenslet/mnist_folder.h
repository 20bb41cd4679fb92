// Where MNIST lies.
#pragma once

#include <string>

namespace lenslet {

/// `asked`, else LENSLET_MNIST_DIR, else ./data where there is such a folder; empty for none. Looks at no file.
std::string find_mnist_folder(const std::string& asked);

}  // namespace lenslet
