// The host side of all rungs of the implicit-GEMM ladder. A rung is a kernel and a RungDesign.
//
// Filters come as w [K, C, R, S]. If a design has a step, the filters are packed tap by tap, and a table has the offset
// of each tap.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "framework/cuda_check.h"
#include "framework/integer_math.h"
#include "framework/launch_check.h"
#include "framework/launch_resources.cuh"
#include "layers/conv/conv_backend.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/ladder/implicit_gemm/rung_kernel.cuh"
#include "layers/conv/gpu/own_kernel_limits.h"

namespace lenslet {
namespace implicit_gemm_ladder {

using RungKernel = void (*)(RungShape, RungOperands);

struct RungDesign {
  const char* name = nullptr;         // of the backend: "implicit_gemm.03_thread_tile"
  const char* kernel_name = nullptr;  // "conv_implicit_gemm_thread_tile_kernel"
  RungKernel kernel = nullptr;        // supports every problem
  RungKernel whole = nullptr;  // without padding, steps filled by taps: nothing to check; null: the same
  int threads = 0;
  int block_filters = 0, block_columns = 0;  // outputs of a block; blockIdx.x counts tiles, filters fastest
  int step = 0;                              // taps a step of packed filters; 0: filters as given, no table
  size_t shared_bytes = 0;                   // dynamic
  int least_capability = 0;                  // 80: compute capability 8.0
};

class RungConv : public ConvKernel {
 public:
  RungConv(const ConvPrepare& request, const RungDesign& design) : design_(design) {
    const Conv2dProblem& problem = request.problem;
    fill_shape(problem, request.relu);
    if (design.whole && problem.pad_h == 0 && problem.pad_w == 0 && shape_.taps % design.step == 0) {
      design_.kernel = design.whole;
    }
    const int64_t column_tiles = ceil_div(int64_t{shape_.columns}, design.block_columns);
    const int filter_tiles = static_cast<int>(ceil_div(problem.k, design.block_filters));
    shape_.by_filter_tiles = FastDivide(filter_tiles);
    blocks_ = static_cast<unsigned>(column_tiles * filter_tiles);

    std::vector<float> bias(static_cast<size_t>(shape_.pitch), 0.0f);
    if (request.bias) std::copy(request.bias, request.bias + problem.k, bias.begin());
    bias_ = request.services.upload(bias.data(), bias.size());
    if (design.step == 0) {
      filters_ =
          request.services.upload(request.weights, static_cast<size_t>(int64_t{problem.k} * shape_.taps));
    } else {
      pack(request);
    }
    if (design.shared_bytes > 0) {
      LENSLET_CUDA_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(design_.kernel),
                                              cudaFuncAttributeMaxDynamicSharedMemorySize,
                                              static_cast<int>(design.shared_bytes)));
    }
  }
  std::string detail() const override {
    return concat(design_.block_filters, " filters x ", design_.block_columns, " positions a block");
  }
  std::vector<LaunchResources> launches() const override {
    return {launch_resources(design_.kernel_name, reinterpret_cast<const void*>(design_.kernel),
                             design_.threads, design_.shared_bytes)};
  }
  void run(const ConvArgs& args, RunContext& context) override {
    const RungOperands operands{args.x,
                                filters_.get(),
                                bias_.get(),
                                static_cast<const int*>(offsets_.get()),
                                static_cast<const int2*>(shifts_.get()),
                                args.y};
    design_.kernel<<<blocks_, static_cast<unsigned>(design_.threads), design_.shared_bytes,
                     static_cast<cudaStream_t>(context.stream.native_handle())>>>(shape_, operands);
    LENSLET_CUDA_CHECK_LAUNCH_OF(design_.kernel_name);
  }

 private:
  void fill_shape(const Conv2dProblem& problem, bool relu) {
    shape_.c = problem.c;
    shape_.h = problem.h;
    shape_.w = problem.w;
    shape_.k = problem.k;
    shape_.r = problem.r;
    shape_.s = problem.s;
    shape_.q = problem.q();
    shape_.plane = problem.p() * problem.q();
    shape_.image = problem.c * problem.h * problem.w;
    shape_.columns = problem.n * shape_.plane;
    shape_.taps = problem.c * problem.r * problem.s;
    shape_.steps = design_.step > 0 ? static_cast<int>(ceil_div(shape_.taps, design_.step)) : 0;
    shape_.pitch = static_cast<int>(round_up(problem.k, design_.block_filters));
    shape_.stride_h = problem.stride_h;
    shape_.stride_w = problem.stride_w;
    shape_.pad_h = problem.pad_h;
    shape_.pad_w = problem.pad_w;
    shape_.dilation_h = problem.dilation_h;
    shape_.dilation_w = problem.dilation_w;
    shape_.by_plane = FastDivide(shape_.plane);
    shape_.by_q = FastDivide(problem.q());
    shape_.by_rs = FastDivide(problem.r * problem.s);
    shape_.by_s = FastDivide(problem.s);
    shape_.relu = relu;
  }
  /// Packs filters from [K, taps] to [padded taps, pitch], and builds the table of the taps' offsets.
  void pack(const ConvPrepare& request) {
    const Conv2dProblem& problem = request.problem;
    const size_t padded = static_cast<size_t>(shape_.steps) * design_.step,
                 pitch = static_cast<size_t>(shape_.pitch);
    std::vector<float> packed(padded * pitch, 0.0f);
    std::vector<int> offsets(padded, 0);
    std::vector<int2> shifts(padded, int2{kNowhere, 0});
    for (int tap = 0; tap < shape_.taps; ++tap) {
      const size_t at = static_cast<size_t>(tap);
      for (int k = 0; k < problem.k; ++k)
        packed[at * pitch + k] = request.weights[int64_t{k} * shape_.taps + tap];
      const int c = tap / (problem.r * problem.s), r = tap / problem.s % problem.r, s = tap % problem.s;
      shifts[at] = {r * problem.dilation_h, s * problem.dilation_w};
      offsets[at] = (c * problem.h + shifts[at].x) * problem.w + shifts[at].y;
    }
    filters_ = request.services.upload(packed.data(), packed.size());
    offsets_ = upload(request, offsets);
    shifts_ = upload(request, shifts);
  }
  template <class Entry>
  static std::shared_ptr<void> upload(const ConvPrepare& request, const std::vector<Entry>& table) {
    const size_t bytes = table.size() * sizeof(Entry);
    std::shared_ptr<void> memory = request.services.allocate(bytes);
    copy_bytes(memory.get(), request.stream.device(), table.data(), Device::cpu(), bytes, request.stream);
    return memory;
  }

  RungDesign design_;
  RungShape shape_{};
  unsigned blocks_ = 0;
  std::shared_ptr<float> filters_, bias_;
  std::shared_ptr<void> offsets_, shifts_;
};

class RungBackend : public ConvBackend {
 public:
  explicit RungBackend(const RungDesign& design) : design_(design) {}
  Support supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support fp32 = fp32_only(design_.name, math); !fp32) return fp32;
    if (const Support nchw = nchw_only(design_.name, problem); !nchw) return nchw;
    if (const Support limits = own_kernel_limits(design_.name, problem); !limits) return limits;
    if (problem.groups > 1) {
      return Support::no(
          concat(design_.name, " serves one group, asked for ", problem.groups, ": use implicit_gemm"));
    }
    const int64_t rows = int64_t{problem.h} + 2 * int64_t{problem.pad_h} + problem.stride_h;
    const int64_t columns = int64_t{problem.w} + 2 * int64_t{problem.pad_w} + problem.stride_w;
    const int64_t reach = (int64_t{problem.n} * problem.c * problem.h + rows) * columns;
    if (reach > INT32_MAX || rows > kNowhere || columns > kNowhere) {
      return Support::no(concat(design_.name, " counts ", INT32_MAX,
                                " elements, padding included; asked for ", reach, ": use direct"));
    }
    return Support::yes();
  }
  size_t workspace_bytes(const Conv2dProblem&, MathMode) const override { return 0; }
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    return accuracy_of_sums(problem, math);
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    require_capability(request.stream.device());
    return std::make_unique<RungConv>(request, design_);
  }

 private:
  void require_capability(Device device) const {
    int major = 0, minor = 0;
    LENSLET_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.ordinal));
    LENSLET_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device.ordinal));
    if (major * 10 + minor < design_.least_capability) {
      throw UnavailableError(concat(
          design_.name, " copies to shared memory asynchronously: it needs compute capability ",
          design_.least_capability / 10, ".", design_.least_capability % 10, ", found ", major, ".", minor));
    }
  }
  RungDesign design_;
};

}  // namespace implicit_gemm_ladder
}  // namespace lenslet
