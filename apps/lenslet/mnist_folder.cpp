#include "apps/lenslet/mnist_folder.h"

#include <cstdlib>
#include <filesystem>

namespace lenslet {

std::string find_mnist_folder(const std::string& asked) {
  if (!asked.empty()) return asked;
  const char* const from_environment = std::getenv("LENSLET_MNIST_DIR");
  if (from_environment != nullptr && from_environment[0] != '\0') return from_environment;
  std::error_code ignored;
  return std::filesystem::is_directory("data", ignored) ? "data" : "";
}

}  // namespace lenslet
