// What eval --backend-matrix runs: which backends compute what, and what cannot take part.
#pragma once

#include <string>
#include <vector>

#include "apps/lenslet/options.h"
#include "apps/lenslet/session.h"

namespace lenslet {

struct MatrixCase {
  std::string spec;     // "conv1=direct,conv2=winograd", "fused tensor_core, uint8 in"
  BuildOptions build;   // without a plan
  std::string refusal;  // why it cannot take part; empty where it can
};

/// In this order: the model in fp32, where --math asks for something else; every way to give each convolution and
/// linear layer a backend that serves it, where --backend pins the layers it names; unless it is given or --plan says
/// layered, every variant of the fused plan in every math mode, with every input it reads. Then what cannot take part.
/// Throws UnavailableError where no backend serves some layer and the fused plan takes no part.
std::vector<MatrixCase> matrix_cases(const EvalOptions& options, const Session& session, int64_t batch);

}  // namespace lenslet
