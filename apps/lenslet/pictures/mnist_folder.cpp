#include "apps/lenslet/pictures/mnist_folder.h"

#include <cstdlib>
#include <filesystem>

#include "models/digit/image_dataset.h"

namespace lenslet {

std::string find_mnist_folder(const std::string& requested) {
  if (!requested.empty()) return requested;
  const char* const from_environment = std::getenv("LENSLET_MNIST_DIR");
  if (from_environment != nullptr && from_environment[0] != '\0') return from_environment;
  std::error_code ignored;
  return std::filesystem::is_directory("data", ignored) ? "data" : "";
}

std::vector<NamedFile> mnist_files(const std::string& requested) {
  std::vector<NamedFile> files;
  const std::string folder = find_mnist_folder(requested);
  if (folder.empty()) return files;
  const char* const chooser = !requested.empty() ? "--data"
                              : folder == "data" ? "./data"
                                                 : "LENSLET_MNIST_DIR";
  for (const std::string& file : image_dataset_files(folder)) files.emplace_back(chooser, file);
  return files;
}

}  // namespace lenslet
