// The backend of a rung, for every ladder. Internal: only for files that include CUDA headers.
#pragma once

#include <string>

#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/kernel_host.cuh"
#include "layers/conv/gpu/own_kernel_limits.h"

namespace lenslet {

/// Supports one group of NCHW in fp32. RungConv is the prepared rung, made from a request and a RungConv::Design, whose
/// `name` is the backend's; its supports(problem, design) checks the rest.
template <class RungConv>
class LadderBackend : public SummingBackend {
 public:
  using Design = typename RungConv::Design;
  explicit LadderBackend(const Design& design) : design_(design) {}
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support fp32 = fp32_only(design_.name, math); !fp32) return fp32;
    if (const Support nchw = nchw_only(design_.name, problem); !nchw) return nchw;
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
