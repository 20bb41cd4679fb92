// The model `mymodel` of the protocol's examples, and requests to it.
#pragma once

#include <string>
#include <vector>

#include "apps/lenslet/serve/protocol/infer_request.h"
#include "tests/support/files.h"

namespace lenslet::serve::test {

inline Signature my_model() {
  Signature signature;
  signature.model = "mymodel";
  signature.input = "input0";
  signature.output = "output0";
  signature.input_shape = {2};
  signature.output_shape = {2};
  signature.normalisations = {Normalisation(0.5f, 0.25f)};
  signature.max_samples = 100;
  return signature;
}

inline std::string example(const std::string& name) {
  return lenslet::test::read_text(LENSLET_SOURCE_DIR "/tests/serve/examples/" + name);
}

inline std::string bytes_of(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

/// {"inputs":[{"name":"input0", …}]} with these members of the input, and these after the inputs.
inline std::string request_json(const std::string& members, const std::string& rest = "") {
  return R"({"inputs":[{"name":"input0",)" + members + "}]" + rest + "}";
}

}  // namespace lenslet::serve::test
