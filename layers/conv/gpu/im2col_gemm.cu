// Convolution as a matrix product (Chellapilla, Puri, Simard, "High Performance Convolutional Neural Networks for
// Document Processing", 2006): the input windows become the columns of a matrix, and cuBLAS does the arithmetic.
//
//   col [N][C*R*S][P*Q]: col[n][(c, r, s)][(p, q)] = x[n, c, p*sh - ph + r*dh, q*sw - pw + s*dw], 0 outside
//   y[n][g] [K/G, P*Q] = w[g] [K/G, C/G*R*S] * col[n][g] [C/G*R*S, P*Q]
//
// The product has y's layout, so nothing is transposed. The matrix repeats an input value up to R*S times. It is built
// in rounds of as many whole images, or else pixels of one image, as fit the workspace. It has one column per output
// pixel, so the work decreases with the stride. A 1x1 window without stride and padding needs no columns: x is the
// matrix.
#include <algorithm>

#include "framework/device/kernel_launch.cuh"
#include "layers/conv/conv_backend.h"
#include "layers/conv/conv_limits.h"
#include "layers/conv/gpu/conv_sizes.h"
#include "layers/conv/gpu/im2col_shape.cuh"
#include "layers/gemm/gemm_backend.h"
#include "layers/gemm/gpu/bias_rectifier.h"
#include "layers/gemm/gpu/cublas_workspace.h"

namespace lenslet {
namespace {

constexpr int kThreads = 256;
// Columns of one round, chosen by hand. Of LeNet's conv1 (25 * 576 floats an image) a round has 4,660 images, a product
// with enough columns for every multiprocessor. It exceeds L2 (60 MiB on an H200): columns are read from memory.
constexpr int64_t kColumnBytes = int64_t{256} << 20;
// Pixels of a round that does not hold a whole image are a multiple of this, so that its rows stay aligned.
constexpr int64_t kPixelUnit = 64;
// Images of one round at most: batches of a product are a grid dimension inside cuBLAS.
constexpr int64_t kMaxImages = 32768;

// computes    col[n][(c, r, s)][pixel] = x[n, c, row(p, r), column(q, s)] or 0, for a range of output pixels
// work split  a thread computes the R*S values of one pixel and one channel; neighbouring threads have
//             neighbouring pixels; grid.y = channels, grid.z = images, both as grid-stride loops
// memory      no shared memory: overlapping windows share values through L1; every store is coalesced
// requires    kR = R and kS = S, or both 0 for any size; kPadded unless no window leaves the input (unroll_for)
// measured    H200, hot: LeNet's conv1 / conv2, batch 10,000: 180.1 / 122.6 us
//             (docs/results/2026-11-28-h200/layers-im2col.json)
template <int kR, int kS, bool kPadded>
__global__ void __launch_bounds__(kThreads)
    conv_im2col_gemm_unroll_kernel(const float* __restrict__ x,  // [images, channels, H, W]
                                   float* __restrict__ col,      // [images, channels * R * S, pixels]
                                   const Im2colShape shape) {
  const int pixel = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (pixel >= shape.pixels) return;
  int q;
  const int p = shape.by_q.divide(shape.first_pixel + pixel, q);
  const int top = p * shape.stride_h - shape.pad_h, left = q * shape.stride_w - shape.pad_w;
  const int r_count = kR > 0 ? kR : shape.r, s_count = kS > 0 ? kS : shape.s;
  const int64_t plane_size = static_cast<int64_t>(shape.h) * shape.w;
  const int64_t taps = static_cast<int64_t>(r_count) * s_count;
  for (int n = static_cast<int>(blockIdx.z); n < shape.images; n += static_cast<int>(gridDim.z)) {
    for (int c = static_cast<int>(blockIdx.y); c < shape.channels; c += static_cast<int>(gridDim.y)) {
      const int64_t plane = static_cast<int64_t>(n) * shape.channels + c;
      const float* in = x + plane * plane_size;
      float* out = col + plane * taps * shape.pixels + pixel;
#pragma unroll
      for (int r = 0; r < r_count; ++r) {
        const int row = top + r * shape.dilation_h;
        const bool row_inside = !kPadded || (row >= 0 && row < shape.h);
#pragma unroll
        for (int s = 0; s < s_count; ++s) {
          const int column = left + s * shape.dilation_w;
          const bool inside = row_inside && (!kPadded || (column >= 0 && column < shape.w));
          *out = inside ? in[static_cast<int64_t>(row) * shape.w + column] : 0.0f;
          out += shape.pixels;
        }
      }
    }
  }
}

using Unroll = void (*)(const float*, float*, Im2colShape);

Unroll unroll_for(const Conv2dProblem& problem) {
  const bool padded = problem.pad_h > 0 || problem.pad_w > 0 || problem.asymmetric();
  if (problem.r == 3 && problem.s == 3) {
    return padded ? conv_im2col_gemm_unroll_kernel<3, 3, true> : conv_im2col_gemm_unroll_kernel<3, 3, false>;
  }
  if (problem.r == 5 && problem.s == 5) {
    return padded ? conv_im2col_gemm_unroll_kernel<5, 5, true> : conv_im2col_gemm_unroll_kernel<5, 5, false>;
  }
  return padded ? conv_im2col_gemm_unroll_kernel<0, 0, true> : conv_im2col_gemm_unroll_kernel<0, 0, false>;
}

/// Threads of a block: the warps that leave the fewest idle at the end of `pixels`, the most of those.
int block_threads(int64_t pixels) {
  int best = kThreads;
  const auto total = [pixels](int threads) { return round_up(pixels, threads); };
  for (int threads = kThreads - 32; threads >= 64; threads -= 32) {
    if (total(threads) < total(best)) best = threads;
  }
  return best;
}

bool is_plain_1x1(const Conv2dProblem& problem) {
  return problem.r == 1 && problem.s == 1 && problem.stride_h == 1 && problem.stride_w == 1 &&
         problem.pad_h == 0 && problem.pad_w == 0 && !problem.asymmetric();
}

/// How much of the problem one round does.
struct Rounds {
  /// `limit`: bytes for the columns, at least those of one unit of pixels.
  Rounds(const Conv2dProblem& problem, int64_t limit) {
    const int64_t all = int64_t{problem.p()} * problem.q();
    if (is_plain_1x1(problem)) {
      images = std::min<int64_t>(problem.n, kMaxImages);
      pixels = all;
      return;
    }
    const int64_t pixel_bytes =
        int64_t{problem.c} * problem.r * problem.s * static_cast<int64_t>(sizeof(float));
    // What is left of the limit once it is cut to whole units of memory, as the columns are.
    constexpr int64_t kUnit = Buffer::kAlignment;
    const int64_t fit = std::max(std::min(limit, kColumnBytes) / kUnit * kUnit / pixel_bytes, kPixelUnit);
    pixels = std::min(all, fit / kPixelUnit * kPixelUnit);
    images = pixels < all ? 1 : std::min<int64_t>({fit / all, problem.n, kMaxImages});
    column_bytes = align_up(static_cast<size_t>(images * pixels * pixel_bytes), Buffer::kAlignment);
  }
  int64_t images = 1;
  int64_t pixels = 0;  // of each image; fewer than all only with one image
  size_t column_bytes = 0;
};

class Im2colGemmKernel : public ConvKernel {
 public:
  Im2colGemmKernel(const ConvPrepare& request, std::unique_ptr<Gemm> gemm, const Rounds& rounds)
      : problem_(request.problem),
        after_(request.rectifier),
        rounds_(rounds),
        gemm_(std::move(gemm)),
        weights_(request.services.upload(
            request.weights, static_cast<size_t>(request.problem.weight_shape().num_elements()))) {
    shape_.channels = problem_.c;
    shape_.h = problem_.h;
    shape_.w = problem_.w;
    shape_.r = problem_.r;
    shape_.s = problem_.s;
    set_strides(shape_, problem_);
    shape_.dilation_h = problem_.dilation_h;
    shape_.dilation_w = problem_.dilation_w;
    shape_.by_q = FastDivide(problem_.q());
    if (request.bias) bias_ = request.services.upload(request.bias, static_cast<size_t>(problem_.k));
  }

  size_t workspace_bytes() const override { return rounds_.column_bytes + gemm_->workspace_bytes(); }

  std::string detail() const override {
    if (rounds_.column_bytes == 0) return gemm_->describe() + ", no columns";
    return concat(gemm_->describe(), ", ", rounds_.column_bytes >> 10, " KiB of columns");
  }

  // The products are the library's.
  std::vector<LaunchResources> launches() const override {
    std::vector<LaunchResources> own;
    if (rounds_.column_bytes > 0) {
      own.push_back(launch_resources("conv_im2col_gemm_unroll_kernel",
                                     reinterpret_cast<const void*>(unroll_for(problem_)),
                                     block_threads(rounds_.pixels), 0));
    }
    if (bias_ || !after_.none()) {
      const int64_t all = int64_t{problem_.p()} * problem_.q();
      own.push_back(
          bias_rectifier_launch(rounds_.pixels == all ? rounds_.images : problem_.n, problem_.k, all));
    }
    return own;
  }

  void convolve(const ConvArgs& args, RunContext& context) override {
    const int64_t all = int64_t{problem_.p()} * problem_.q();
    const int64_t x_image = int64_t{problem_.c} * problem_.h * problem_.w, y_image = problem_.k * all;
    auto* columns = static_cast<float*>(context.workspace);
    void* gemm_workspace = static_cast<unsigned char*>(context.workspace) + rounds_.column_bytes;
    const bool whole = rounds_.pixels == all;
    for (int64_t n = 0; n < problem_.n; n += rounds_.images) {
      const int64_t images = std::min(rounds_.images, problem_.n - n);
      const float* x = args.x + n * x_image;
      float* y = args.y + n * y_image;
      for (int64_t pixel = 0; pixel < all; pixel += rounds_.pixels) {
        const int64_t pixels = std::min(rounds_.pixels, all - pixel);
        const float* matrix = x;
        if (rounds_.column_bytes > 0) {
          ScopedStage stage(context.tracer, "im2col");
          unroll(x, columns, pixel, pixels, images, context);
          matrix = columns;
        }
        ScopedStage stage(context.tracer, "gemm");
        multiply(matrix, y + pixel, pixels, images, gemm_workspace, context);
      }
      // At once, while the end of this round's outputs is still in L2.
      if (whole) finish(y, images, context);
    }
    if (!whole) finish(args.y, problem_.n, context);
  }

 private:
  void unroll(const float* x, float* columns, int64_t first_pixel, int64_t pixels, int64_t images,
              RunContext& context) const {
    Im2colShape shape = shape_;
    shape.images = static_cast<int>(images);
    shape.first_pixel = static_cast<int>(first_pixel);
    shape.pixels = static_cast<int>(pixels);
    const int threads = block_threads(pixels);
    const dim3 grid(grid_blocks(pixels, threads),
                    static_cast<unsigned>(std::min(problem_.c, GpuLimits::kGridYZ)),
                    static_cast<unsigned>(std::min<int64_t>(images, GpuLimits::kGridYZ)));
    launch("conv_im2col_gemm_unroll_kernel", unroll_for(problem_), grid, static_cast<unsigned>(threads), 0,
           native(context.stream), x, columns, shape);
  }

  // One batch of products over the images for each group, or over the groups for each image, whichever are fewer calls.
  void multiply(const float* matrix, float* y, int64_t pixels, int64_t images, void* workspace,
                RunContext& context) {
    const int64_t groups = problem_.groups, all = int64_t{problem_.p()} * problem_.q();
    const int64_t taps = int64_t{problem_.c} / groups * problem_.r * problem_.s,
                  outputs = problem_.k / groups;
    const int64_t image_matrix = groups * taps * pixels, image_outputs = problem_.k * all;
    const bool over_images = groups <= images;
    GemmProblem product;
    product.m = static_cast<int>(outputs);
    product.n = static_cast<int>(pixels);
    product.k = static_cast<int>(taps);
    product.lda = taps;
    product.ldb = pixels;
    product.ldc = all;
    product.batch = static_cast<int>(over_images ? images : groups);
    product.stride_a = over_images ? 0 : outputs * taps;
    product.stride_b = over_images ? image_matrix : taps * pixels;
    product.stride_c = over_images ? image_outputs : outputs * all;
    const int64_t calls = over_images ? groups : images;
    for (int64_t i = 0; i < calls; ++i) {
      gemm_->run(product,
                 {weights_.get() + (over_images ? i * outputs * taps : 0),
                  matrix + i * (over_images ? taps * pixels : image_matrix),
                  y + i * (over_images ? outputs * all : image_outputs)},
                 workspace, context);
    }
  }

  void finish(float* y, int64_t images, RunContext& context) const {
    if (!bias_ && after_.none()) return;
    ScopedStage stage(context.tracer, "bias_rectifier");
    bias_rectifier_gpu(y, bias_.get(), after_, images, problem_.k, int64_t{problem_.p()} * problem_.q(),
                       context.stream);
  }

  Conv2dProblem problem_;
  Rectifier after_;
  Rounds rounds_;
  std::unique_ptr<Gemm> gemm_;
  std::shared_ptr<float> weights_, bias_;
  Im2colShape shape_{};
};

class Im2colGemmBackend : public ConvBackend {
 public:
  size_t workspace_bytes(const Conv2dProblem& problem, MathMode /*math*/) const override {
    return Rounds(problem, kColumnBytes).column_bytes + kCublasWorkspaceBytes;
  }

  size_t min_workspace_bytes(const Conv2dProblem& problem, MathMode /*math*/) const override {
    return Rounds(problem, 0).column_bytes + kCublasWorkspaceBytes;
  }

  Determinism determinism(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override {
    return gemm_backend(DeviceKind::kCuda).determinism();
  }

  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    return accuracy_of_sums(problem, math);
  }

  bool fuses_rectifier(const Rectifier& /*rectifier*/) const override { return true; }

 private:
  Support do_supports(const Conv2dProblem& problem, MathMode math) const override {
    if (const Support nchw = nchw_only("im2col_gemm", problem); !nchw) return nchw;
    if (math == MathMode::kFp16)
      return Support::no(
          "im2col_gemm multiplies fp32 operands, in fp32 or tf32, not fp16: choose one of these");
    const int64_t pixels = int64_t{problem.p()} * problem.q();
    if (pixels > INT32_MAX) {
      return Support::no(concat("im2col_gemm supports up to ", INT32_MAX, " output pixels per image, found ",
                                pixels, ": use direct"));
    }
    return Support::yes();
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    std::unique_ptr<Gemm> gemm = gemm_backend(DeviceKind::kCuda).prepare(request.math, request.stream);
    const size_t taken = gemm->workspace_bytes();
    const size_t limit = request.workspace_limit > taken ? request.workspace_limit - taken : 0;
    const Rounds rounds(request.problem, static_cast<int64_t>(std::min<size_t>(limit, kColumnBytes)));
    const Support fits =
        workspace_fits("backend im2col_gemm", rounds.column_bytes + taken, request.workspace_limit);
    if (!fits) throw MemoryError(fits.reason());
    return std::make_unique<Im2colGemmKernel>(request, std::move(gemm), rounds);
  }
};

}  // namespace

LENSLET_BACKEND(conv, gpu_im2col_gemm, Im2colGemmBackend())

}  // namespace lenslet
