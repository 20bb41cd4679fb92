#include "apps/lenslet/diff/their_values.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>

#include "apps/common/system/python_script.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/io/file.h"
#include "framework/io/npz.h"
#include "layers/reference/fill.h"

namespace lenslet {
namespace {

std::string names_of(const std::map<std::string, NpyArray>& arrays) {
  std::string text;
  for (const auto& [name, array] : arrays) {
    text += concat(text.empty() ? "" : ", ", printable_excerpt(name, 60));
    if (text.size() > 300) return text + ", ...";
  }
  return text.empty() ? "none" : text;
}

// Whether the sizes are the expected ones in another order: values that another framework keeps channels last.
bool is_permuted(const NpyArray& array, const Shape& of_one_sample) {
  std::vector<int64_t> found(array.dims.begin() + (array.dims.empty() ? 0 : 1), array.dims.end());
  const std::vector<int64_t> wanted = of_one_sample.sample().dims();
  return found != wanted && std::is_permutation(found.begin(), found.end(), wanted.begin(), wanted.end());
}

// Also of NaN, which equals nothing.
bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

std::set<std::string> values_of(const onnx::Model& model) {
  std::set<std::string> names;
  for (const onnx::ValueInfo& end : model.inputs) names.insert(end.name);
  for (const auto& [name, tensor] : model.initializers) names.insert(name);
  for (const onnx::Node& node : model.nodes) names.insert(node.outputs.begin(), node.outputs.end());
  return names;
}

// The input in fp32, exactly.
void take_input(const NpyArray& array, const Shape& sample, const std::string& where, TheirValues& theirs) {
  if (!array.holds_samples_of(sample)) {
    throw DataError(
        concat(where, ": expected Nx", sample.to_string(), " of float32, found ", array.describe()));
  }
  theirs.samples = array.dims[0];
  for (const double value : array.values(where)) {
    const auto rounded = static_cast<float>(value);
    if (!std::isfinite(value) || double{rounded} != value)
      throw DataError(concat(where, ": ", value, " is not a finite float32; both must read the same inputs"));
    theirs.input.push_back(rounded);
  }
}

TheirValues take(const std::vector<uint8_t>& file, const std::string& origin, const onnx::Model& model,
                 const onnx::Import& import) {
  const std::set<std::string> values = values_of(model);
  std::map<std::string, NpyArray> arrays =
      parse_npz(file, origin, kMaxArrayBytes, [&](const std::string& name, const NpyArray&) {
        if (values.count(name) != 0) return;
        throw DataError(concat(origin, ": ", printable_excerpt(name, 60),
                               " is not a tensor of the model: name it as the model does, or leave it out"));
      });
  const Graph& graph = *import.graph;
  const std::string& input = model.inputs.at(0).name;
  const auto found = arrays.find(input);
  if (found == arrays.end()) {
    throw DataError(concat(origin, ": expected the input ", printable_excerpt(input, 60),
                           " and values of other tensors of the model, found ", names_of(arrays)));
  }
  TheirValues theirs;
  take_input(found->second, graph.input_shape(), concat(origin, ": ", printable_excerpt(input, 60)), theirs);
  arrays.erase(found);
  const std::vector<Shape> shapes = graph.infer_shapes(1);
  for (const auto& [name, array] : arrays) {
    const auto node = import.node_of.find(name);
    if (node == import.node_of.end() || node->second == graph.nodes()[0].name) {
      theirs.unknown.push_back(name);
      continue;
    }
    const std::string where = concat(origin, ": ", printable_excerpt(name, 60));
    Shape shape;
    for (size_t i = 0; i < shapes.size(); ++i)
      if (graph.nodes()[i].name == node->second) shape = shapes[i];
    const int64_t expected = shape.num_elements() * theirs.samples;
    if (array.count() != expected || is_permuted(array, shape)) {
      throw DataError(concat(where, ": expected ", expected, " values for ", theirs.samples,
                             " samples, each ", shape.to_string(), ", found ", array.describe()));
    }
    // A Flatten after a layer has the same values, which are compared once.
    std::vector<TheirTensor>& of_node = theirs.by_node[node->second];
    std::vector<double> found_values = array.values(where);
    const bool known = std::any_of(of_node.begin(), of_node.end(), [&](const TheirTensor& tensor) {
      return same_bits(tensor.values, found_values);
    });
    if (!known) of_node.push_back({name, std::move(found_values)});
  }
  if (theirs.by_node.empty()) {
    throw DataError(concat(origin, ": it has no values to compare: none of its tensors (", names_of(arrays),
                           ") is one that a layer of the model computes"));
  }
  return theirs;
}

// A folder of its own for the files of one run.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lenslet_diff.XXXXXX").string();
    if (!::mkdtemp(pattern.data())) throw OutputError(concat(pattern, ": cannot be created"));
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace

TheirValues values_of_file(const std::string& path, const onnx::Model& model, const onnx::Import& import) {
  const std::string origin = printable_excerpt(path);
  return take(read_file(path, kMaxArrayBytes), origin, model, import);
}

TheirValues values_of_onnxruntime(const std::string& model_path, const onnx::Model& model,
                                  const onnx::Import& import, int64_t samples, uint64_t seed) {
  const PythonScript script{"diff/onnxruntime_values.py",
                            "apps/lenslet/diff/onnxruntime_values.py",
                            "LENSLET_DIFF_SCRIPT",
                            "onnxruntime_values: ",
                            "diff --against onnxruntime",
                            "values",
                            "set LENSLET_PYTHON to a Python with onnxruntime (pip install onnxruntime)"};
  const TemporaryFolder folder;
  std::vector<float> input(static_cast<size_t>(samples * import.graph->input_shape().num_elements()));
  reference::Random random(seed);
  for (float& value : input) value = random.uniform();
  OutputFile inputs(folder.file("inputs.f32"));
  inputs.write(std::string(reinterpret_cast<const char*>(input.data()), input.size() * sizeof(float)));
  inputs.commit();
  // One tensor of each layer: a Flatten after it has the same values.
  std::map<std::string, std::string> value_of;
  for (const auto& [value, node] : import.node_of)
    if (node != import.graph->nodes()[0].name) value_of.emplace(node, value);
  std::string names;
  for (const auto& [node, value] : value_of) names += value + '\0';
  OutputFile wanted(folder.file("names"));
  wanted.write(names);
  wanted.commit();
  std::string shape = std::to_string(samples);
  const onnx::ValueInfo& end = model.inputs.at(0);
  for (size_t i = 1; i < end.dims.size(); ++i) {
    const int64_t size = end.dims[i].size;
    if (size < 0)
      throw DataError(concat("the input has the free dimension ", i, "; export it with fixed sizes"));
    shape += concat("x", size);
  }
  script.run({std::filesystem::absolute(model_path).string(), end.name, shape, folder.file("inputs.f32"),
              folder.file("names"), folder.file("values.npz")});
  return take(read_file(folder.file("values.npz"), kMaxArrayBytes), "ONNX Runtime", model, import);
}

}  // namespace lenslet
