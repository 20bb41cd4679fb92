// The judge of imported networks: every node of an ONNX graph in fp64, one after another, written from the operators'
// definitions. It shares the file reader with the importer and nothing else: no shapes, no folding, no layers.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/onnx/read/model.h"

namespace lenslet::test::onnx {

struct Array {
  std::vector<int64_t> dims;
  std::vector<double> values;  // in C order; whole numbers too
};

/// The values of every node for that input, by name. Throws std::logic_error for an operator that it does not have.
std::map<std::string, Array> evaluate(const lenslet::onnx::Model& model, const Array& input);

}  // namespace lenslet::test::onnx
