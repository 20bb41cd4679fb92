// Ladders: how a convolution kernel climbs from the plain version to the product, one idea a rung.
//
// A rung is an ordinary backend: tests and `convbench ladder` iterate this list. It is one file,
// layers/conv/gpu/ladder/<algorithm>/NN_<idea>.cu, and one row in layers/conv/gpu/ladder/CMakeLists.txt.
#pragma once

#include <string>
#include <vector>

#include "layers/conv/conv_backend.h"

namespace lenslet {

/// One row of a ladder.
struct ConvRung {
  std::string name;         // "implicit_gemm.03_thread_tile"; of the last one "implicit_gemm", the product
  std::string algorithm;    // "implicit_gemm"
  std::string change;       // the one thing it does otherwise than the rung before
  bool is_product = false;  // the backend itself, which every ladder ends with
  const ConvBackend& (*getter)() = nullptr;  // defined in the rung's file
};

/// "implicit_gemm", "direct", …: those with rungs in this build; none without the GPU side.
std::vector<std::string> conv_ladder_algorithms();
/// From the first rung to the product. Throws UsageError naming the legal algorithms, UnavailableError where this build
/// has none.
std::vector<ConvRung> conv_ladder(const std::string& algorithm);

}  // namespace lenslet
