#include "models/onnx/model_file.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/io/file.h"
#include "models/onnx/read/check_graph.h"
#include "models/onnx/read/read_tensor.h"
#include "models/onnx/shape/branches.h"

namespace lenslet::onnx {
namespace {

namespace fs = std::filesystem;

class FolderFiles {
 public:
  /// Adds the paths of the files that are read to `read`.
  FolderFiles(const std::string& path, std::vector<std::string>& read)
      : origin_(printable_excerpt(path)), read_(read) {
    folder_ = fs::path(path).parent_path();
    if (folder_.empty()) folder_ = ".";
  }

  std::shared_ptr<const ByteSource> operator()(const std::string& location) const {
    std::error_code error;
    const fs::path folder = fs::canonical(folder_, error);
    const fs::path file = error ? fs::path() : fs::weakly_canonical(folder / location, error);
    const auto [end, inside] = std::mismatch(folder.begin(), folder.end(), file.begin(), file.end());
    if (error || end != folder.end())
      throw DataError(concat(origin_, ": the external data \"", printable_excerpt(location),
                             "\" lead out of the model's folder"));
    read_.push_back(file.string());
    return std::make_shared<const FileBytes>(file.string());
  }

 private:
  std::string origin_;
  std::vector<std::string>& read_;
  fs::path folder_;
};

}  // namespace

Model parse_model(std::vector<uint8_t> bytes, const std::string& origin, const ExternalFiles& external,
                  const Inspection& inspection) {
  return parse_model(std::make_shared<const MemoryBytes>(std::move(bytes)), origin, external, inspection);
}

Model parse_model(const std::shared_ptr<const ByteSource>& file, const std::string& origin,
                  const ExternalFiles& external, const Inspection& inspection) {
  ModelReader reader(file, origin, external);
  Model model = reader.model();
  check_graph(model, origin);
  const auto read_branch = [&](std::string_view graph) { return reader.branch(graph); };
  if (inline_branches(model, origin, kMaxNodes, read_branch)) check_graph(model, origin);
  if (inspection && reader.weights() > kReadAtOnce) inspection(model);
  check_weights(model, origin);
  return model;
}

Model read_model(const std::string& path, const Inspection& inspection) {
  const std::string origin = printable_excerpt(path);
  std::vector<std::string> external_files;
  const FolderFiles beside(path, external_files);
  const auto parsed = [&] {
    if (path == "-") return parse_model(read_file(path, kMaxStructureBytes), origin, beside, inspection);
    const auto file = std::make_shared<const FileBytes>(path);
    if (file->size() > kMaxFileBytes)
      throw DataError(
          concat(origin, ": expected a file of at most ", kMaxFileBytes, " bytes, found ", file->size()));
    return parse_model(file, origin, beside, inspection);
  };
  Model model = parsed();
  model.external_files = std::move(external_files);
  return model;
}

}  // namespace lenslet::onnx
