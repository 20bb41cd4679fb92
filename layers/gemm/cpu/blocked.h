// The matrix product of our own, for machines without oneDNN.
#pragma once

#include "layers/gemm/gemm.h"

namespace lenslet {

const GemmProvider& blocked_gemm_provider();

}  // namespace lenslet
