// This project's matrix product, for machines without oneDNN.
#pragma once

#include "layers/gemm/gemm_backend.h"

namespace lenslet {

/// `stands_in_because` is the reason for replacing a library,
/// for describe(); empty if this loop was requested by name.
std::unique_ptr<const GemmBackend> make_blocked_gemm(const std::string& stands_in_because);

}  // namespace lenslet
