// The matrix product of our own, for machines without oneDNN.
#pragma once

#include "layers/gemm/gemm.h"

namespace lenslet {

/// `stands_in_because` is why this one serves and not a library, for describe(); empty where it was asked for.
std::unique_ptr<const GemmProvider> make_blocked_gemm_provider(const std::string& stands_in_because);

}  // namespace lenslet
