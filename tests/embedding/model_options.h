// Options of a Model, and the backends that it has.
#pragma once

#include <string>
#include <vector>

#include "api/model.h"

namespace lenslet::test {

inline ModelOptions on_cpu(const std::string& plan = "auto", const std::string& backend = "",
                           int64_t max_batch = 0) {
  return {"cpu", plan, backend, "fp32", SIZE_MAX, max_batch};
}

inline ModelOptions on_gpu(const std::string& plan = "auto", const std::string& math = "fp32",
                           const std::string& backend = "", int64_t max_batch = 0) {
  return {"cuda", plan, backend, math, SIZE_MAX, max_batch};
}

/// The backends of the CPU for LeNet-5's first convolution.
inline std::vector<std::string> conv_backends() {
  std::vector<std::string> names;
  for (const BackendChoice& choice : Model::built_in(on_cpu()).backends(1)) {
    if (choice.layer == "conv1" && choice.reason.empty()) names.push_back(choice.backend);
  }
  return names;
}

}  // namespace lenslet::test
