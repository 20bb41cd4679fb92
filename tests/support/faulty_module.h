// Common parts of the faulty stand-ins for vendor modules. Include it in one file of a module only.
#pragma once

#include <cstdlib>

#include "framework/graph/module.h"
#include "layers/conv/conv_backend.h"

namespace lenslet {

/// The number of runs before the fault: LENSLET_TEST_RUNS_BEFORE_FAULT.
inline int runs_before_fault() {
  const char* const text = std::getenv("LENSLET_TEST_RUNS_BEFORE_FAULT");
  return text == nullptr ? 0 : std::atoi(text);
}

/// Supports every problem in fp32.
class FaultyBackend : public ConvBackend {
 public:
  size_t workspace_bytes(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override { return 0; }
  ConvAccuracy accuracy(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override { return {}; }

 private:
  Support do_supports(const Conv2dProblem& /*problem*/, MathMode math) const override {
    return math == MathMode::kFp32 ? Support::yes() : Support::no("fp32 only");
  }
};

}  // namespace lenslet

LENSLET_DEFINE_MODULE()

LENSLET_MODULE_EXPORT int lenslet_library_info(lenslet::ModuleLibrary* libraries, int capacity) {
  if (capacity > 0) libraries[0] = {"faulty", "0", "none"};
  return 1;
}
