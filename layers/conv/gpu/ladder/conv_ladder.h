// Ladders: versions of a convolution kernel from the plain one to the product, one idea per rung.
//
// A rung is an ordinary backend: tests and `convbench ladder` iterate this list. It is one file,
// layers/conv/gpu/ladder/<algorithm>/NN_<idea>.cu, and one row in layers/conv/gpu/ladder/CMakeLists.txt.
#pragma once

#include <string>
#include <vector>

#include "layers/conv/conv_backend.h"

namespace lenslet {

/// In what a rung computes. The backend of each rung is one; the product takes that of the rung before it.
class RungSetting {
 public:
  virtual ~RungSetting() = default;
  /// The only math mode.
  virtual MathMode math() const = 0;
  /// The only layout of x and y.
  virtual TensorLayout layout() const = 0;
};

/// One row of a ladder.
struct ConvRung {
  std::string name;       // "implicit_gemm.03_thread_tile"; the last rung is the product, "implicit_gemm"
  std::string algorithm;  // "implicit_gemm"
  std::string change;     // the one difference from the previous rung
  const ConvBackend& (*getter)() = nullptr;   // defined in the rung's file, or in the product's
  bool is_product = false;                    // the backend itself, the last rung of every ladder
  MathMode math = MathMode::kFp32;            // of the rung's RungSetting; the same for all rungs of a ladder
  TensorLayout layout = TensorLayout::kNchw;  // likewise
};

/// "implicit_gemm", "direct", …: the ladders of this build; none without the GPU side, "tensor_core" only with code for
/// compute capability 9.0.
std::vector<std::string> conv_ladder_algorithms();
/// From the first rung to the product. Throws UsageError with the legal algorithms, or UnavailableError if this build
/// has no ladders.
std::vector<ConvRung> conv_ladder(const std::string& algorithm);

}  // namespace lenslet
