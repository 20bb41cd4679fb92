// This project's matrix product, for machines without oneDNN.
#pragma once

#include "layers/gemm/gemm.h"

namespace lenslet {

/// `stands_in_because` is the reason for the fallback from a library, for describe(); empty if it was requested by
/// name.
std::unique_ptr<const GemmProvider> make_blocked_gemm_provider(const std::string& stands_in_because);

}  // namespace lenslet
