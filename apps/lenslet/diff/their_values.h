// The values of another framework that `lenslet diff` compares with: of an .npz file, or computed by ONNX Runtime.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "framework/graph/graph.h"
#include "models/onnx/import/import.h"
#include "models/onnx/read/model.h"

namespace lenslet {

/// Values of one tensor of the model for all samples.
struct TheirTensor {
  std::string name;
  std::vector<double> values;
};

struct TheirValues {
  int64_t samples = 0;
  std::vector<float> input;                                 // [samples, the graph's input]
  std::map<std::string, std::vector<TheirTensor>> by_node;  // by node of the graph that computes them
  std::vector<std::string> unknown;                         // tensors that no layer computes alone
};

/// From an .npz file: the tensor named like the graph's input, and those named like any other value. Throws DataError:
/// damaged, no input, another shape, or nothing to compare.
TheirValues values_of_file(const std::string& path, const onnx::Model& model, const onnx::Import& import);

/// Computed by ONNX Runtime for random inputs. Throws UnavailableError if there is no Python with onnxruntime.
TheirValues values_of_onnxruntime(const std::string& model_path, const onnx::Model& model,
                                  const onnx::Import& import, int64_t samples, uint64_t seed);

}  // namespace lenslet
