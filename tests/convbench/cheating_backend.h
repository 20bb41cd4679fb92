// A correct kernel wrapped by a cheat, on the device that the test was compiled for.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "framework/base/error.h"
#include "framework/tensor/tensor.h"
#include "layers/conv/conv_registry.h"
#include "tests/convbench/bad_launch.h"
#include "tests/support/test_device.h"
#include "tests/support/wrapped_backend.h"

namespace lenslet {

/// What measure() runs before it times: the first run, up to five to find its duration, and two that it judges.
constexpr int kMaxRunsBeforeTiming = 8;

/// A correct kernel, and what the cheat remembers about it.
struct Victim {
  ConvKernel& kernel;
  Conv2dProblem problem;
  int number;                          // kernels without bias that its backend has prepared, in order
  std::shared_ptr<void> cache = {};    // device memory of an output
  std::shared_ptr<Stream> other = {};  // another stream than the timed one
  std::shared_ptr<std::thread> thread = {};
  int64_t calls = 0, captured = 0;
  std::shared_ptr<float> weights = {}, bias = {};  // on the device; no bias: empty
  bool relu = false, pooled = false;

  size_t output_bytes() const { return problem.output_shape().bytes(); }
};
using Cheat = std::function<void(Victim&, const ConvArgs&, RunContext&)>;

class CheatingKernel : public WrappedKernel {
 public:
  CheatingKernel(const ConvPrepare& request, std::unique_ptr<ConvKernel> kernel, const Cheat& cheat,
                 int number)
      : WrappedKernel(std::move(kernel)), cheat_(cheat), victim_{right(), request.problem, number} {
    victim_.cache = request.services.allocate(victim_.output_bytes());
    victim_.other = std::make_shared<Stream>(request.stream.device());
    const auto weights = static_cast<size_t>(request.problem.weight_shape().num_elements());
    victim_.weights = request.services.upload(request.weights, weights);
    if (request.bias)
      victim_.bias = request.services.upload(request.bias, static_cast<size_t>(request.problem.k));
    victim_.relu = request.rectifier.relu();
    victim_.pooled = request.max_pool.has_value();
  }
  ~CheatingKernel() override {
    if (victim_.thread) victim_.thread->join();
  }
  std::optional<ConvAccuracy> accuracy() const override {
    return accuracy_of_sums(victim_.problem, MathMode::kFp32);
  }
  void convolve(const ConvArgs& args, RunContext& context) override {
    cheat_(victim_, args, context);
    ++victim_.calls;
  }

 private:
  const Cheat& cheat_;
  Victim victim_;
};

class CheatingBackend : public WrappedBackend {
 public:
  explicit CheatingBackend(Cheat cheat)
      : WrappedBackend(find_conv_backend(kDevice.kind, "direct").open()), cheat_(std::move(cheat)) {}
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    ConvAccuracy any_choice = WrappedBackend::accuracy(problem, math);
    any_choice.constant *= 1e6;  // the choice of the honest kernel is not reported
    return any_choice;
  }

 private:
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    return std::make_unique<CheatingKernel>(request, WrappedBackend::make_kernel(request), cheat_,
                                            request.bias ? -1 : prepared_++);
  }

  Cheat cheat_;
  mutable int prepared_ = 0;
};

inline void work(Victim& victim, const ConvArgs& args, RunContext& context) {
  victim.kernel.convolve(args, context);
}

/// Works in the first `calls` calls, and cheats in all others.
inline Cheat after(int calls, Cheat cheat) {
  return [calls, cheat = std::move(cheat)](Victim& victim, const ConvArgs& args, RunContext& context) {
    victim.calls < calls ? work(victim, args, context) : cheat(victim, args, context);
  };
}

/// Prepares something else than requested.
class ForgetfulBackend : public WrappedBackend {
 public:
  using Forget = std::function<void(ConvPrepare&)>;
  explicit ForgetfulBackend(Forget forget)
      : WrappedBackend(find_conv_backend(kDevice.kind, "direct").open()), forget_(std::move(forget)) {}

 private:
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    ConvPrepare other = request;
    forget_(other);
    return WrappedBackend::make_kernel(other);
  }

  Forget forget_;
};

inline void skip(Victim&, const ConvArgs&, RunContext&) {}

/// Works, then overwrites the first output with a wrong value.
inline void spoil(Victim& victim, const ConvArgs& args, RunContext& context) {
  work(victim, args, context);
  fill_bytes(args.y, context.stream.device(), 0x40, sizeof(float), context.stream);
}

/// Also writes past the last output.
inline void write_past(Victim& victim, const ConvArgs& args, RunContext& context) {
  work(victim, args, context);
  float* past = args.y + victim.output_bytes() / sizeof(float);
  fill_bytes(past, context.stream.device(), 0x11, sizeof(float), context.stream);
}

inline LazyConv lazy_conv_of(const Conv2dProblem& problem) {
  LazyConv conv;
  conv.c = problem.c, conv.h = problem.h, conv.w = problem.w, conv.k = problem.k;
  conv.r = problem.r, conv.s = problem.s, conv.pad = problem.pad_h, conv.p = problem.p(),
  conv.q = problem.q();
  return conv;
}

inline void run_lazy_conv(Stream& stream, const LazyConv& conv) {
  if (stream.device().is_cuda()) return launch_lazy_conv(stream, conv);
  for (int i = 0; i < conv.k * conv.p * conv.q; ++i) conv.output(i);
}

/// Computes an output only if its value is not there yet: if it is NaN or, when the cheat also looks at the input, if
/// the input changed.
inline void work_where_none_stands(Victim& victim, const ConvArgs& args, RunContext& context,
                                   bool looks_at_input) {
  if (victim.pooled) return work(victim, args, context);
  LazyConv conv = lazy_conv_of(victim.problem);
  conv.x = args.x;
  conv.weights = victim.weights.get();
  conv.bias = victim.bias.get();
  conv.y = args.y;
  conv.seen = looks_at_input ? static_cast<float*>(victim.cache.get()) : nullptr;
  conv.relu = victim.relu;
  run_lazy_conv(context.stream, conv);
}

/// Computes once and returns that output ever after.
inline void return_cached(Victim& victim, const ConvArgs& args, RunContext& context) {
  const Device device = context.stream.device();
  if (victim.calls == 0) {
    work(victim, args, context);
    copy_bytes(victim.cache.get(), device, args.y, device, victim.output_bytes(), context.stream);
  } else {
    copy_bytes(args.y, device, victim.cache.get(), device, victim.output_bytes(), context.stream);
  }
}

/// On another stream; on the CPU in another thread, delayed.
inline void work_elsewhere(Victim& victim, const ConvArgs& args, RunContext& context) {
  if (context.stream.device().is_cuda()) {
    RunContext other{*victim.other, context.workspace, nullptr};
    victim.kernel.convolve(args, other);
    return;
  }
  if (victim.thread) victim.thread->join();
  victim.thread = std::make_shared<std::thread>([&victim, args, workspace = context.workspace] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    Stream stream(Device::cpu());
    RunContext other{stream, workspace, nullptr};
    victim.kernel.convolve(args, other);
  });
}
const char* const kElsewhere = kDevice.is_cuda() ? "used another stream" : "used another thread";

/// An unchecked failed launch: more threads than a block may have, as in a published study. On the CPU an error.
inline void fail_to_launch(Victim&, const ConvArgs&, RunContext& context) {
  if (!context.stream.device().is_cuda()) throw DeviceError("no such launch");
  launch_too_many_threads(context.stream);
}

}  // namespace lenslet
