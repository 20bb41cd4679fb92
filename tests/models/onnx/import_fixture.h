// Writes networks node by node, imports and runs them on the CPU, and compares them with the judge that evaluates the
// file's nodes in fp64 (evaluate.h).
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "models/onnx/import/import.h"
#include "models/onnx/model_file.h"
#include "tests/models/onnx/onnx_writer.h"

namespace lenslet::test::onnx {

using Dims = std::vector<int64_t>;

inline Message text_attribute(const std::string& name, const std::string& value) {
  return Message().text(1, name).text(4, value).integer(20, 3);
}
inline Message real_attribute(const std::string& name, float value) {
  return Message().text(1, name).real(2, value).integer(20, 1);
}

/// Files named m.onnx.
inline lenslet::onnx::Model parse(const Message& model) {
  return lenslet::onnx::parse_model(model.file(), "m.onnx");
}
inline lenslet::onnx::Model parse(const GraphParts& parts, int64_t opset = 13) {
  return parse(model_of(parts, opset));
}

/// Writes a network node by node; each reads the value before it unless it names others.
class Writer {
 public:
  Writer(const Dims& sample, int64_t batch = -1) : last_("x") {
    Dims dims = {batch};
    dims.insert(dims.end(), sample.begin(), sample.end());
    parts_.inputs = {value("x", dims)};
  }
  /// Random constants with values around `middle`.
  std::string weights(const Dims& dims, float spread = 0.3f, float middle = 0) {
    int64_t count = 1;
    for (const int64_t dim : dims) count *= dim;
    std::uniform_real_distribution<float> uniform(middle - spread, middle + spread);
    std::vector<float> values;
    for (int64_t i = 0; i < count; ++i) values.push_back(uniform(random_));
    return constant(floats("k" + std::to_string(++constants_), dims, values));
  }
  std::string numbers(const Dims& numbers) {
    return constant(int64s("k" + std::to_string(++constants_), numbers));
  }
  std::string constant(const Message& initializer) {
    parts_.initializers.push_back(initializer);
    return "k" + std::to_string(constants_);
  }
  std::string constants_name() { return "k" + std::to_string(++constants_); }
  /// Reads the last value, then `constants`.
  std::string add(const std::string& op, const std::vector<std::string>& constants = {},
                  const std::vector<Message>& attributes = {}) {
    std::vector<std::string> inputs = {last_};
    inputs.insert(inputs.end(), constants.begin(), constants.end());
    return join(op, inputs, attributes);
  }
  std::string join(const std::string& op, const std::vector<std::string>& inputs,
                   const std::vector<Message>& attributes = {}) {
    last_ = "v" + std::to_string(parts_.nodes.size());
    parts_.nodes.push_back(node(op, inputs, last_, attributes));
    return last_;
  }
  /// Gives the last node one more output.
  void more_output(const std::string& name) { parts_.nodes.back().text(2, name); }
  std::string batch_norm(int64_t channels) {
    return add("BatchNormalization", {weights({channels}, 0.3f, 1), weights({channels}), weights({channels}),
                                      weights({channels}, 0.3f, 1)});
  }
  const std::string& last() const { return last_; }
  lenslet::onnx::Model model(int64_t opset = 13) {
    parts_.outputs = {value(last_, {-1})};
    return parse(parts_, opset);
  }

 private:
  GraphParts parts_;
  std::string last_;
  int constants_ = 0;
  std::mt19937 random_{7};
};

/// The import of a model, whose file is named m.onnx.
lenslet::onnx::Import import(const lenslet::onnx::Model& model);
/// The sums of the tests' graphs have at most a thousand products, whose roundings in fp32, of random signs, add up to
/// sqrt(1000) * 2^-24 = 1.9e-6. This is ten times that, for cancellation and for several layers.
constexpr double kImportTolerance = 2e-5;
/// Runs it on random values at these batches, fused and not; every output must be close to the judge's.
/// Outputs may differ by `tolerance` of the largest.
void expect_as_judged(const lenslet::onnx::Model& model, const std::vector<int64_t>& batches = {1, 3},
                      double tolerance = kImportTolerance);
/// The network is refused, and `reason` is among the reasons.
void expect_refused(Writer& writer, const std::string& reason, int64_t opset = 13);

}  // namespace lenslet::test::onnx
