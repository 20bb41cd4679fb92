// Convolutions at the largest sizes: tensors of almost 2^31 elements, the limit of a problem. Kernels that count in 32
// bits refuse the last few thousand with the reason. A formula that the judge also uses generates the inputs on the
// GPU, so that no large data crosses the bus.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/base/integer_math.h"
#include "framework/device/cuda_check.h"
#include "framework/device/device_memory.h"
#include "framework/device/native_stream.h"
#include "framework/tensor/poison.h"
#include "layers/conv/conv_registry.h"
#include "layers/conv/prepare_services.h"
#include "layers/reference/choose_outputs.h"
#include "layers/reference/compare.h"
#include "layers/reference/fill.h"
#include "layers/reference/guarded_memory.h"
#include "layers/reference/reference.h"
#include "tests/support/gpu.h"
#include "tests/support/test_names.h"

namespace lenslet {
namespace {

constexpr int kThreads = 256;

/// Element `index` of the input: an integer in [-4, 4] (finalizer of splitmix64).
__host__ __device__ float input_at(int64_t index) {
  auto z = static_cast<uint64_t>(index) + 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return static_cast<float>(static_cast<int>((z >> 40) % 9) - 4);
}

// x[i] = input_at(i)
__global__ void fill_input_kernel(float* x, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step)
    x[i] = input_at(i);
}

// Adds the number of NaN and infinite elements to *odd.
__global__ void count_odd_kernel(const float* y, int64_t count, unsigned long long* odd) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  unsigned long long found = 0;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step)
    found += isfinite(y[i]) ? 0 : 1;
  if (found > 0) atomicAdd(odd, found);
}

// out[i] = y[indices[i]]
__global__ void gather_kernel(const float* y, const int64_t* indices, int count, float* out) {
  const int i = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (i < count) out[i] = y[indices[i]];
}

struct Case {
  const char *name, *backend, *problem;
  MathMode math = MathMode::kFp32;
  TensorLayout layout = TensorLayout::kNchw;
  std::optional<Pool2dWindow> max_pool = {};
};

/// The judge's value of one output, without the bias.
reference::Term term_at(const Conv2dProblem& problem, const std::vector<float>& weights, int64_t n, int64_t k,
                        int64_t p, int64_t q) {
  const int64_t channels = problem.c / problem.groups, first = k / (problem.k / problem.groups) * channels;
  reference::Term term;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t r = 0; r < problem.r; ++r) {
      for (int64_t s = 0; s < problem.s; ++s) {
        const int64_t h = p * problem.stride_h - problem.pad_h + r * problem.dilation_h;
        const int64_t w = q * problem.stride_w - problem.pad_w + s * problem.dilation_w;
        if (h < 0 || h >= problem.h || w < 0 || w >= problem.w) continue;
        const int64_t at = problem.layout == TensorLayout::kNhwc
                               ? ((n * problem.h + h) * problem.w + w) * problem.c + first + c
                               : ((n * problem.c + first + c) * problem.h + h) * problem.w + w;
        const size_t tap = static_cast<size_t>(((k * channels + c) * problem.r + r) * problem.s + s);
        const double product = double{input_at(at)} * double{weights[tap]};
        term.value += product;
        term.magnitude += std::fabs(product);
      }
    }
  }
  return term;
}

class ConvSizes : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override { LENSLET_SKIP_WITHOUT_GPU(); }
};

TEST_P(ConvSizes, AgreeWithTheReference) {
  constexpr int64_t kSamples = 20'000;
  constexpr unsigned kBlocks = 4096;
  constexpr double kMaxInput = 4;
  const Case& at = GetParam();
  Conv2dProblem problem = Conv2dProblem::parse(at.problem);
  problem.layout = at.layout;
  const ConvBackend& backend = find_conv_backend(DeviceKind::kCuda, at.backend).open();
  const Support support = backend.supports(problem, at.math);
  ASSERT_TRUE(support) << support.reason();
  Stream stream(Device::cuda());
  DevicePrepareServices services(stream);
  const std::vector<float> weights =
      reference::small_integers(static_cast<size_t>(problem.weight_shape().num_elements()), 1);
  const std::vector<float> bias = reference::small_integers(static_cast<size_t>(problem.k), 2);
  std::unique_ptr<ConvKernel> kernel;
  try {
    kernel = backend.prepare(
        {problem, at.math, weights.data(), bias.data(), false, SIZE_MAX, services, stream, "", at.max_pool});
  } catch (const UnavailableError& error) {  // cuBLAS or cuDNN is unavailable
    GTEST_SKIP() << error.what();
  }
  const Pool2dWindow window = at.max_pool.value_or(Pool2dWindow::square(1, 1));
  const int64_t rows = window.rows(problem.p()), columns = window.columns(problem.q());
  const int64_t inputs = problem.input_shape().num_elements(),
                outputs = int64_t{problem.n} * problem.k * rows * columns;
  const auto bytes_of = [](int64_t count) { return static_cast<size_t>(count) * sizeof(float); };
  const size_t needed = bytes_of(inputs) + bytes_of(outputs) + kernel->workspace_bytes() + (size_t{64} << 20);
  if (free_memory_bytes(Device::cuda()) < needed)
    GTEST_SKIP() << "needs " << needed << " bytes of device memory";

  enum Block : size_t { kInput, kOutput, kWorkspace };
  reference::GuardedMemory memory(stream.device(),
                                  {bytes_of(inputs), bytes_of(outputs), kernel->workspace_bytes()});
  auto* x = static_cast<float*>(memory.block(kInput));
  auto* y = static_cast<float*>(memory.block(kOutput));
  memory.poison(kNanByte, stream);
  fill_input_kernel<<<kBlocks, kThreads, 0, native(stream)>>>(x, inputs);
  LENSLET_CUDA_CHECK_LAUNCH("fill_input_kernel");
  RunContext context{stream, kernel->workspace_bytes() > 0 ? memory.block(kWorkspace) : nullptr, nullptr};
  kernel->convolve({x, y}, context);

  const Buffer odd(stream.device(), sizeof(unsigned long long));
  fill_bytes(odd.data(), stream.device(), 0, odd.bytes(), stream);
  count_odd_kernel<<<kBlocks, kThreads, 0, native(stream)>>>(y, outputs, odd.as<unsigned long long>());
  LENSLET_CUDA_CHECK_LAUNCH("count_odd_kernel");
  unsigned long long odd_count = 1;
  copy_bytes(&odd_count, Device::cpu(), odd.data(), stream.device(), sizeof odd_count, stream);
  stream.synchronise();
  EXPECT_EQ(odd_count, 0u) << "outputs are no numbers, " << kernel->detail();
  EXPECT_EQ(memory.damage(kNanByte, stream), "");

  // Positions [N, K, rows, columns], and their indices into y.
  const std::vector<int64_t> places =
      reference::choose_outputs({int64_t{problem.n} * problem.k, rows, columns}, kSamples, 3);
  const int64_t pixels = rows * columns;
  std::vector<int64_t> indices = places;
  if (at.layout == TensorLayout::kNhwc) {
    for (int64_t& index : indices) {
      const int64_t plane = index / pixels;
      index = (plane / problem.k * pixels + index % pixels) * problem.k + plane % problem.k;
    }
  }
  std::vector<float> found(places.size());
  const Buffer device_indices(stream.device(), indices.size() * sizeof(int64_t)),
      device_found(stream.device(), found.size() * sizeof(float));
  copy_bytes(device_indices.data(), stream.device(), indices.data(), Device::cpu(), device_indices.bytes(),
             stream);
  gather_kernel<<<static_cast<unsigned>(ceil_div(static_cast<int64_t>(found.size()), kThreads)), kThreads, 0,
                  native(stream)>>>(y, device_indices.as<int64_t>(), static_cast<int>(found.size()),
                                    device_found.as<float>());
  LENSLET_CUDA_CHECK_LAUNCH("gather_kernel");
  copy_bytes(found.data(), Device::cpu(), device_found.data(), stream.device(), device_found.bytes(), stream);
  stream.synchronise();

  const ConvAccuracy accuracy = accuracy_of(backend, *kernel, problem, at.math);
  const double factor = accuracy.factor(conv_terms(problem));
  reference::Comparison comparison;
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t plane = places[i] / pixels, row = places[i] % pixels / columns,
                  column = places[i] % columns;
    const int64_t n = plane / problem.k, k = plane % problem.k;
    reference::Term largest{-INFINITY, 0};
    for (int64_t p = row * window.stride_h; p < row * window.stride_h + window.r; ++p) {
      for (int64_t q = column * window.stride_w; q < column * window.stride_w + window.s; ++q) {
        const reference::Term term = term_at(problem, weights, n, k, p, q);
        largest.value = std::max(largest.value, term.value);
        largest.magnitude = std::max(largest.magnitude, term.magnitude);
      }
    }
    double magnitude = largest.magnitude;
    if (accuracy.by_image_maximum) {
      const size_t taps = weights.size() / static_cast<size_t>(problem.k);
      magnitude = 0;
      for (size_t t = 0; t < taps; ++t)
        magnitude += kMaxInput * std::fabs(double{weights[static_cast<size_t>(k) * taps + t]});
    }
    const double offset = bias[static_cast<size_t>(k)];
    comparison.add(indices[i], found[i], largest.value + offset,
                   accuracy.exact_on_integers ? 0 : factor * (magnitude + std::fabs(offset)));
  }
  EXPECT_TRUE(comparison.passed()) << comparison.reason() << " [" << kernel->detail() << "]";
}

constexpr MathMode kTf32 = MathMode::kTf32, kFp16 = MathMode::kFp16, kFp32 = MathMode::kFp32;
constexpr TensorLayout kNchw = TensorLayout::kNchw, kNhwc = TensorLayout::kNhwc;
// Almost 2^31 elements: many small images as input or output; deep ones; one large picture.
constexpr const char *kSmallIn = "mb2097147ic1ih32oc1kh5", *kSmallOut = "mb39945ic2ih30iw32oc64kh3",
                     *kDeep = "mb32766ic64ih32oc64kh3", *kPicture = "mb1ic3ih26752oc1kh3ph1",
                     *kLeNet = "mb621377ic1ih28oc6kh5", *kAny = "mb2097147ic1ih32oc1kh4",
                     *kPixels = "mb2097147ic4ih16oc4kh3ph1", *kDepthwise = "g8mb262143ic8ih32oc8kh3ph1",
                     *kDepthwiseAny = "g8mb262143ic8ih32oc8kh4";
// More than kernels that count in 32 bits support: the last block would exceed 2^31.
constexpr const char *kMany = "mb2097151ic1ih32oc1kh5", *kMaxDepthwise = "g7mb299593ic7ih32oc7kh3ph1";

INSTANTIATE_TEST_SUITE_P(
    Backends, ConvSizes,
    testing::Values(
        Case{"direct_tile_in", "direct", kSmallIn}, Case{"direct_tile_out", "direct", kSmallOut},
        Case{"direct_tile_deep", "direct", kDeep}, Case{"direct_strip", "direct", kPicture},
        Case{"direct_strip_nhwc", "direct", kPicture, kFp32, kNhwc}, Case{"direct_rows", "direct", kLeNet},
        Case{"direct_rows_pooled", "direct", kLeNet, kFp32, kNchw, Pool2dWindow::square(2, 2)},
        Case{"direct_any", "direct", kAny}, Case{"direct_nhwc", "direct", kPixels, kFp32, kNhwc},
        Case{"direct_any_pooled", "direct", kAny, kFp32, kNchw, Pool2dWindow::square(3, 2)},
        Case{"implicit_gemm_in", "implicit_gemm", kSmallIn},
        Case{"implicit_gemm_out", "implicit_gemm", kSmallOut},
        Case{"implicit_gemm_deep", "implicit_gemm", kDeep}, Case{"winograd_in", "winograd", kSmallIn},
        Case{"winograd_out", "winograd", kSmallOut}, Case{"winograd_deep", "winograd", kDeep},
        Case{"tensor_core_in", "tensor_core", kSmallIn, kTf32},
        Case{"tensor_core_out", "tensor_core", kSmallOut, kFp16},
        Case{"tensor_core_deep", "tensor_core", kDeep, kTf32},
        Case{"tensor_core_deep_nhwc", "tensor_core", kDeep, kFp16, kNhwc},
        Case{"depthwise_rows", "depthwise", kDepthwise},
        Case{"depthwise_channels", "depthwise", kDepthwise, kFp32, kNhwc},
        Case{"depthwise_any", "depthwise", kDepthwiseAny}, Case{"im2col_gemm_images", "im2col_gemm", kMany},
        Case{"im2col_gemm_out", "im2col_gemm", kSmallOut},
        Case{"im2col_gemm_image", "im2col_gemm", kPicture}),
    ByName());

// A backend that counts in 32 bits refuses larger problems and names the count. Any other supports them, or refuses one
// image too.
TEST(ConvSizesRefused, BeyondWhatABackendCounts) {
  const std::set<std::string> counts_in_32_bits = {"depthwise",     "sliced_k", "direct",     "split_gemm",
                                                   "implicit_gemm", "winograd", "tensor_core"};
  for (const ConvBackendEntry& entry : conv_backend_entries(DeviceKind::kCuda)) {
    const MathMode math = entry.name() == "tensor_core" ? kTf32 : kFp32;
    Conv2dProblem problem = Conv2dProblem::parse(entry.name() == "depthwise" ? kMaxDepthwise : kMany);
    const Support many = entry.supports(problem, math);
    problem.n = 1;
    const Support one = entry.supports(problem, math);
    if (counts_in_32_bits.count(entry.name()) == 0 && (many || !one)) continue;
    EXPECT_NE(many.reason().find("the input has 2147482624: use a smaller batch or image"), std::string::npos)
        << entry.name() << ": '" << many.reason() << "'";
    EXPECT_TRUE(one) << entry.name() << " refuses one image too";
  }
}

}  // namespace
}  // namespace lenslet
