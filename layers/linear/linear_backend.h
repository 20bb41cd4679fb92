// LinearBackend: one way to compute a linear layer on one kind of device.
#pragma once

#include <memory>

#include "framework/graph/backend_table.h"
#include "framework/graph/layer.h"
#include "layers/fp32_only.h"

namespace lenslet {

/// Sizes and host weights of a layer. The pointers are valid only during preparation.
struct LinearProblem {
  int64_t batch = 0, inputs = 0, outputs = 0;   ///< Vectors, and the features of each.
  const float* weights = nullptr;               // [outputs, inputs]
  const float* bias = nullptr;                  // [outputs] or null
  bool relu = false;                            // apply max(x, 0) before storing
  MathMode math = MathMode::kFp32;              ///< Arithmetic of the products.
  ElementType input_type = ElementType::kFp32;  // of x: fp32, or fp16 in memory aligned to Buffer::kAlignment
  ElementType output_type = ElementType::kFp32;  // of y, likewise
};

/// One way to compute linear layers: which problems it supports, and its prepared operators. One object serves all
/// threads.
class LinearBackend {
 public:
  virtual ~LinearBackend() = default;
  /// Yes, or no with the reason, for x and y of fp32. Checks only sizes and math mode; works without a device.
  virtual Support supports(const LinearProblem& problem) const = 0;
  /// supports(), with the types of the problem.
  Support computes(const LinearProblem& problem) const {
    const bool fp32 = problem.input_type == ElementType::kFp32 && problem.output_type == ElementType::kFp32;
    const Support support = supports(problem);
    return support && !fp32 ? do_takes_ends(problem) : support;
  }
  /// Whether `auto` takes it for a supported problem, before backends of later rows.
  virtual bool suits(const LinearProblem& /*problem*/) const { return true; }
  /// Bytes of workspace that every prepared operator needs.
  virtual size_t workspace_bytes() const { return 0; }
  /// The promise for every problem.
  virtual Determinism determinism() const { return Determinism::kPosition; }
  /// Packs and uploads the weights. Throws UnavailableError with the reason if the problem is not supported or a
  /// library is missing, MemoryError.
  std::unique_ptr<Operator> prepare(const LinearProblem& problem, Stream& stream) const {
    if (const Support support = computes(problem); !support) throw UnavailableError(support.reason());
    return make_operator(problem, stream);
  }

 private:
  /// prepare(), for a supported problem.
  virtual std::unique_ptr<Operator> make_operator(const LinearProblem& problem, Stream& stream) const = 0;
  /// Whether it reads and writes the problem's types, of which one is not fp32: yes, or no with the reason. For a
  /// problem that it supports in fp32. By default no.
  virtual Support do_takes_ends(const LinearProblem& problem) const {
    return refuse_ends(problem.input_type, problem.output_type);
  }
};

/// Yes for up to `max_outputs`, the limit of a kernel's grid; else no.
inline Support outputs_fit(const char* backend, const LinearProblem& problem, int64_t max_outputs) {
  if (problem.outputs <= max_outputs) return Support::yes();
  return Support::no(concat("linear's ", backend, " supports up to ", max_outputs, " outputs, found ",
                            problem.outputs, ": use another backend"));
}

/// Yes for fp32 and up to `max_outputs`; else no.
inline Support own_linear_limits(const char* backend, const LinearProblem& problem, int64_t max_outputs) {
  if (const Support fits = outputs_fit(backend, problem, max_outputs); !fits) return fits;
  return fp32_only(concat("linear's ", backend), problem.math);
}

/// The rows of layers/linear/CMakeLists.txt.
const BackendTable<LinearBackend>& linear_table();

namespace linear_backends {
using Interface = LinearBackend;  ///< The type that LENSLET_BACKEND registers.
}

}  // namespace lenslet
