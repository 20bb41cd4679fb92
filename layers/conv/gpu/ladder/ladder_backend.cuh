// The backend of a rung, for every ladder. Internal: only for files that include CUDA headers.
#pragma once

#include <string>

#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/kernel_host.cuh"
#include "layers/conv/gpu/ladder/conv_ladder.h"
#include "layers/conv/gpu/own_kernel_limits.h"

namespace lenslet {

/// Supports one group in the layout RungConv::kLayout and the math mode RungConv::kMath. RungConv is the prepared rung,
/// made from a request and a RungConv::Design, whose `name` is the backend's; its supports(problem, design) checks the
/// rest.
template <class RungConv>
class LadderBackend : public SummingBackend, public RungSetting {
 public:
  using Design = typename RungConv::Design;
  explicit LadderBackend(const Design& design) : design_(design) {}
  MathMode math() const override { return RungConv::kMath; }
  TensorLayout layout() const override { return RungConv::kLayout; }
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support mode = math_only(design_.name, math, RungConv::kMath); !mode) return mode;
    if (const Support layout = layout_only(design_.name, problem, RungConv::kLayout); !layout) return layout;
    if (const Support limits = own_kernel_limits(design_.name, problem); !limits) return limits;
    if (problem.groups > 1) {
      const std::string name = design_.name, product = name.substr(0, name.find('.'));
      return Support::no(concat(name, " supports one group, found ", problem.groups, ": use ", product));
    }
    return RungConv::supports(problem, design_);
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    return std::make_unique<RungConv>(request, design_);
  }

 private:
  Design design_;
};

}  // namespace lenslet
