// Convolution by oneDNN 2.x (module lenslet_conv_cpu_onednn): its direct algorithm, bias fused.
//
//   y[n, k, p, q] = b[k] + sum over c, r, s of w[k, c, r, s] * x[n, c, p*sh - ph + r*dh, q*sw - pw + s*dw]
//   x [N, C, H, W], w [K, C/G, R, S], y [N, K, P, Q]; x and y NCHW or NHWC, by the problem's layout
//
// oneDNN computes either in the problem's layout or in its preferred blocked one, with a reorder before and after. Both
// are prepared and timed; the faster one is used. A batch is split over the program's threads, with one oneDNN thread
// each. A batch with too few images is passed to oneDNN as a whole, with all its threads.
#include <dnnl.hpp>

#include <algorithm>

#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "framework/graph/module.h"
#include "layers/conv/conv_backend.h"
#include "layers/fp32_only.h"
#include "layers/gemm/cpu/onednn_library.h"
#include "layers/gemm/cpu/onednn_threads.h"

namespace lenslet {
namespace {

using dnnl::memory;
using Convolution = dnnl::convolution_forward;

// Below this work a second thread costs more than it saves. Chosen by hand, as that of direct.cpp.
constexpr double kFlopsPerThread = 1.5 * kFlopsPerWokenThread;

const dnnl::engine& cpu_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

/// The layout that oneDNN computes in: the problem's, or channels in blocks of a vector.
enum class Layout { kPlain, kBlocked };
constexpr Layout kLayouts[] = {Layout::kPlain, Layout::kBlocked};

/// The values of ConvKernel::choice().
const char* layout_name(Layout layout) { return layout == Layout::kPlain ? "plain" : "blocked"; }

memory::desc plain_desc(TensorLayout layout, const memory::dims& nchw) {
  return {nchw, memory::data_type::f32,
          layout == TensorLayout::kNhwc ? memory::format_tag::nhwc : memory::format_tag::nchw};
}
memory::desc plain_x_desc(const Conv2dProblem& p, int64_t batch) {
  return plain_desc(p.layout, {batch, p.c, p.h, p.w});
}
memory::desc plain_y_desc(const Conv2dProblem& p, int64_t batch) {
  return plain_desc(p.layout, {batch, p.k, p.p(), p.q()});
}

/// An empty descriptor if oneDNN has no implementation.
Convolution::primitive_desc describe_convolution(const Conv2dProblem& p, int64_t batch, Layout layout,
                                                 bool bias) {
  const memory::desc x = plain_x_desc(p, batch), y = plain_y_desc(p, batch);
  const auto any = [](const memory::desc& desc) {
    return memory::desc(desc.dims(), memory::data_type::f32, memory::format_tag::any);
  };
  memory::dims weight_dims = {p.k, p.c / p.groups, p.r, p.s};
  if (p.groups > 1) weight_dims = {p.groups, p.k / p.groups, p.c / p.groups, p.r, p.s};
  const memory::desc w(weight_dims, memory::data_type::f32, memory::format_tag::any);
  const memory::desc b =
      bias ? memory::desc({p.k}, memory::data_type::f32, memory::format_tag::x) : memory::desc();
  const memory::dims strides = {p.stride_h, p.stride_w}, pads = {p.pad_h, p.pad_w};
  const memory::dims pads_after = {int64_t{p.pad_h} + p.more_pad_h, int64_t{p.pad_w} + p.more_pad_w};
  const memory::dims dilations = {p.dilation_h - 1, p.dilation_w - 1};
  const bool blocked = layout == Layout::kBlocked;
  const Convolution::desc desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                               blocked ? any(x) : x, w, b, blocked ? any(y) : y, strides, dilations, pads,
                               pads_after);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return {desc, attributes, cpu_engine(), true};
}

/// A primitive with its argument list made once, so that a run only sets pointers.
struct Call {
  dnnl::primitive primitive;
  std::vector<dnnl_exec_arg_t> arguments;

  void execute(const dnnl::stream& stream) const {
    const dnnl_status_t status = dnnl_primitive_execute(primitive.get(), stream.get(),
                                                        static_cast<int>(arguments.size()), arguments.data());
    if (status != dnnl_success)
      throw DeviceError(concat("a oneDNN primitive failed with status ", int{status}));
  }
};

/// A part of the batch: reorder, convolution, reorder, each thread with objects of its own.
class Part {
 public:
  Part(const Conv2dProblem& problem, int64_t first, int64_t batch, const Convolution::primitive_desc& desc,
       const Convolution& convolution, const memory& weights, const memory& bias)
      : x_offset_(first * problem.c * problem.h * problem.w),
        y_offset_(first * problem.k * problem.p() * problem.q()),
        stream_(cpu_engine()) {
    const memory::desc plain_x = plain_x_desc(problem, batch), plain_y = plain_y_desc(problem, batch);
    const auto unplaced = [](const memory::desc& d) { return memory(d, cpu_engine(), DNNL_MEMORY_NONE); };
    x_ = unplaced(plain_x);
    y_ = unplaced(plain_y);
    memory inner_x = x_, inner_y = y_;
    if (desc.src_desc() != plain_x) inner_x = in_workspace(desc.src_desc());
    if (desc.dst_desc() != plain_y) inner_y = in_workspace(desc.dst_desc());
    if (inner_x != x_) add_reorder(x_, inner_x);
    Call call{
        convolution,
        {{DNNL_ARG_SRC, inner_x.get()}, {DNNL_ARG_WEIGHTS, weights.get()}, {DNNL_ARG_DST, inner_y.get()}}};
    if (bias) call.arguments.push_back({DNNL_ARG_BIAS, bias.get()});
    if (desc.scratchpad_desc().get_size() > 0) {
      call.arguments.push_back({DNNL_ARG_SCRATCHPAD, in_workspace(desc.scratchpad_desc()).get()});
    }
    calls_.push_back(std::move(call));
    if (inner_y != y_) add_reorder(inner_y, y_);
  }

  size_t workspace_bytes() const { return workspace_bytes_; }
  bool reorders() const { return calls_.size() > 1; }

  void run(const ConvArgs& args, unsigned char* workspace) const {
    x_.set_data_handle(const_cast<float*>(args.x + x_offset_));
    y_.set_data_handle(args.y + y_offset_);
    for (const Placed& placed : placed_) placed.what.set_data_handle(workspace + placed.offset);
    for (const Call& call : calls_) call.execute(stream_);
  }

 private:
  struct Placed {
    memory what;
    size_t offset;
  };

  memory in_workspace(const memory::desc& desc) {
    placed_.push_back({memory(desc, cpu_engine(), DNNL_MEMORY_NONE), workspace_bytes_});
    workspace_bytes_ += align_up(desc.get_size(), Buffer::kAlignment);
    return placed_.back().what;
  }

  void add_reorder(const memory& from, const memory& to) {
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const dnnl::reorder::primitive_desc desc(from, to, attributes);
    Call call{dnnl::reorder(desc), {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}}};
    if (desc.scratchpad_desc().get_size() > 0) {
      call.arguments.push_back({DNNL_ARG_SCRATCHPAD, in_workspace(desc.scratchpad_desc()).get()});
    }
    calls_.push_back(std::move(call));
  }

  int64_t x_offset_, y_offset_;
  dnnl::stream stream_;
  memory x_, y_;
  std::vector<Placed> placed_;
  std::vector<Call> calls_;
  size_t workspace_bytes_ = 0;
};

class OneDnnKernel : public ConvKernel {
 public:
  /// Throws UnavailableError if oneDNN has no implementation for this layout.
  OneDnnKernel(const ConvPrepare& request, Layout layout) : layout_(layout) {
    const Conv2dProblem& problem = request.problem;
    const int threads = static_cast<int>(
        std::clamp(problem.flops() / kFlopsPerThread, 1.0, static_cast<double>(num_threads())));
    parts_wanted_ = problem.n >= threads ? threads : 1;
    onednn_threads_ = parts_wanted_ == 1 ? threads : 1;
    const OneDnnThreads guard(onednn_threads_);  // a primitive is generated for a number of threads
    if (request.bias)
      bias_ = copy_of({{problem.k}, memory::data_type::f32, memory::format_tag::x}, request.bias);
    for (int64_t part = 0; part < parts_wanted_; ++part) {
      const int64_t first = part * problem.n / parts_wanted_, last = (part + 1) * problem.n / parts_wanted_;
      const auto desc = describe_convolution(problem, last - first, layout, request.bias != nullptr);
      if (!desc) throw UnavailableError(concat("oneDNN has no implementation for ", problem.to_string()));
      // Parts differ by at most one image. They share the weights if the layout is the same; otherwise each has its
      // own.
      if (weights_.empty() || weights_.back().get_desc() != desc.weights_desc()) {
        weights_.push_back(reordered_weights(problem, request.weights, desc.weights_desc()));
      }
      parts_.emplace_back(problem, first, last - first, desc, Convolution(desc), weights_.back(), bias_);
      offsets_.push_back(workspace_bytes_);
      workspace_bytes_ += align_up(parts_.back().workspace_bytes(), Buffer::kAlignment);
      detail_ = desc.impl_info_str();
    }
    if (parts_.front().reorders()) detail_ += ", reordered";
  }

  size_t workspace_bytes() const override { return workspace_bytes_; }
  std::string detail() const override { return detail_; }
  std::string choice() const override { return layout_name(layout_); }

  void convolve(const ConvArgs& args, RunContext& context) override {
    auto* workspace = static_cast<unsigned char*>(context.workspace);
    const auto run_part = [&](size_t i) {
      const OneDnnThreads guard(onednn_threads_);
      parts_[i].run(args, workspace + offsets_[i]);
    };
    if (parts_.size() == 1) return run_part(0);
    parallel_for(static_cast<int64_t>(parts_.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) run_part(static_cast<size_t>(i));
    });
  }

 private:
  static memory copy_of(const memory::desc& desc, const float* values) {
    memory copy(desc, cpu_engine());
    std::copy(values, values + desc.get_size() / sizeof(float), static_cast<float*>(copy.get_data_handle()));
    return copy;
  }

  static memory reordered_weights(const Conv2dProblem& p, const float* values, const memory::desc& wanted) {
    const auto tag = p.groups > 1 ? memory::format_tag::goihw : memory::format_tag::oihw;
    memory plain = copy_of({wanted.dims(), memory::data_type::f32, tag}, values);
    if (plain.get_desc() == wanted) return plain;
    memory result(wanted, cpu_engine());
    dnnl::stream stream(cpu_engine());
    dnnl::reorder(plain, result).execute(stream, plain, result);
    stream.wait();
    return result;
  }

  Layout layout_;
  int64_t parts_wanted_ = 1;
  int onednn_threads_ = 1;
  memory bias_;
  std::vector<memory> weights_;
  std::vector<Part> parts_;
  std::vector<size_t> offsets_;
  size_t workspace_bytes_ = 0;
  std::string detail_;
};

class OneDnnBackend : public ConvBackend {
 public:
  /// Input and output once more in blocked channels (up to 16 to a block), and the scratchpads.
  size_t workspace_bytes(const Conv2dProblem& problem, MathMode /*math*/) const override {
    size_t bytes = 0;
    for (Layout layout : kLayouts) {
      try {
        bytes = std::max(bytes, make_kernel_for_size(problem, layout));
      } catch (const std::exception&) {
        continue;  // if no layout remains, prepare() reports the reason
      }
    }
    return bytes;
  }
  // The direct algorithm sums products; oneDNN's Winograd is not used.
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    return accuracy_of_sums(problem, math);
  }
  // oneDNN's ReLU after a convolution converts NaN to zero.
  bool fuses_rectifier(const Rectifier& /*rectifier*/) const override { return false; }
  // The layout is chosen by timing.
  Determinism determinism(const Conv2dProblem& /*problem*/, MathMode /*math*/) const override {
    return Determinism::kBounded;
  }

 private:
  Support do_supports(const Conv2dProblem& /*problem*/, MathMode math) const override {
    return fp32_only("onednn on the CPU", math);
  }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    try {
      return request.choice.empty() ? fastest(request) : planned(request);
    } catch (const dnnl::error& error) {
      throw UnavailableError(
          concat("oneDNN could not prepare ", request.problem.to_string(), ": ", error.what()));
    }
  }
  /// The layout that an earlier choice() names, untimed.
  static std::unique_ptr<ConvKernel> planned(const ConvPrepare& request) {
    for (Layout layout : kLayouts) {
      if (request.choice != layout_name(layout)) continue;
      auto kernel = std::make_unique<OneDnnKernel>(request, layout);
      const Support fits = workspace_fits(concat("onednn's ", request.choice, " layout"),
                                          kernel->workspace_bytes(), request.workspace_limit);
      if (!fits) throw MemoryError(fits.reason());
      return kernel;
    }
    throw UnavailableError(
        concat("onednn has no layout '", request.choice, "', which the plan names; it has: plain, blocked"));
  }

  static std::unique_ptr<ConvKernel> fastest(const ConvPrepare& request) {
    const Conv2dProblem& problem = request.problem;
    const auto x = request.services.allocate(problem.input_shape().bytes());
    const auto y = request.services.allocate(problem.output_shape().bytes());
    std::fill_n(static_cast<float*>(x.get()), problem.input_shape().num_elements(), 0.5f);
    std::unique_ptr<ConvKernel> best;
    double best_ns = 0;
    std::string reason;
    size_t smallest = SIZE_MAX;
    for (Layout layout : kLayouts) {
      try {
        auto kernel = std::make_unique<OneDnnKernel>(request, layout);
        smallest = std::min(smallest, kernel->workspace_bytes());
        if (kernel->workspace_bytes() > request.workspace_limit) continue;
        const auto workspace = request.services.allocate(kernel->workspace_bytes());
        RunContext context{request.stream, workspace.get(), nullptr};
        const ConvArgs args{static_cast<const float*>(x.get()), static_cast<float*>(y.get())};
        const double ns = request.services.time_ns([&] { kernel->convolve(args, context); });
        if (!best || ns < best_ns) {
          best = std::move(kernel);
          best_ns = ns;
        }
      } catch (const UnavailableError& error) {
        reason = error.what();
      }
    }
    if (best) return best;
    if (smallest == SIZE_MAX) throw UnavailableError(reason);
    throw MemoryError(workspace_fits("onednn", smallest, request.workspace_limit).reason());
  }

  static size_t make_kernel_for_size(const Conv2dProblem& problem, Layout layout) {
    const std::vector<float> weights(static_cast<size_t>(problem.weight_shape().num_elements()));
    const std::vector<float> bias(static_cast<size_t>(problem.k));
    struct NoServices : PrepareServices {
      std::shared_ptr<void> allocate(size_t) override { return {}; }
      std::shared_ptr<float> upload(const float*, size_t) override { return {}; }
      double time_ns(EnqueuedWork) override { return 0; }
      void download(float*, const float*, size_t) override {}
    } services;
    Stream stream{Device::cpu()};
    return OneDnnKernel(
               {problem, MathMode::kFp32, weights.data(), bias.data(), true, SIZE_MAX, services, stream},
               layout)
        .workspace_bytes();
  }
};

}  // namespace
}  // namespace lenslet

LENSLET_DEFINE_MODULE()
LENSLET_MODULE_SHARES_THREADS()

LENSLET_MODULE_EXPORT const lenslet::ConvBackend* lenslet_conv_backend() {
  static const lenslet::OneDnnBackend backend;
  return &backend;
}

LENSLET_MODULE_EXPORT int lenslet_library_info(lenslet::ModuleLibrary* libraries, int capacity) {
  return lenslet::onednn_library_info(libraries, capacity);
}
