// Runs an Executable: its passes, slice by slice and step by step.
#include <algorithm>
#include <cstdint>
#include <utility>

#include "framework/base/alignment.h"
#include "framework/base/error.h"
#include "framework/device/device_health.h"
#include "framework/execution/executable.h"
#include "framework/measuring/nvtx.h"

namespace lenslet {

namespace {

// Makes the stages of an uninstrumented pass visible to Nsight.
class NvtxTracer : public Tracer {
 public:
  void begin(const char* name) override { nvtx_push(name); }
  void end() noexcept override { nvtx_pop(); }
};

std::string describe(const Executable::Step& step) {
  return concat("layer ", step.name, " (", step.backend, ")");
}

}  // namespace

void Executable::check_own_ends() const {
  if (caller_ends_) throw UsageError("with caller_ends only run(input, output) has memory to work on");
}

void Executable::run() {
  check_own_ends();
  if (capture_due_ && !checked_) {
    run_checked();
    return;
  }
  DeviceGuard guard(device_);
  NvtxRange range("run");
  const Ends ends{input_.data, output_.data};
  if (std::exchange(capture_due_, false)) captured_ = capture(ends);
  if (captured_) {
    captured_.launch(stream_);
    return;
  }
  run_between(ends, stream_);
}

void Executable::run(ConstTensorView input, TensorView output, Stream& stream, float* pair_values) {
  if (mapped_ || keep_activations_) {
    throw UsageError(
        "run(input, output) does not work with mapped_io or keep_activations; use run() without arguments");
  }
  if (pair_values && !(device_.is_cuda() && output_.type.one_for_each_sample()))
    throw UsageError("run() with pair_values needs a GPU and an output of a pair for each sample; pass null");
  check_place(input, input_, "input", end_alignment(input_));
  check_place(output, output_, "output", pair_values ? sizeof(int32_t) : end_alignment(output_));
  DeviceGuard guard(device_);
  NvtxRange range("run");
  const Ends ends{input.data, output.data, pair_values};
  if (kept_captures_ && stream.capture_id() == 0) {
    if (const CapturedGraph* const graph = kept_captures_->of(ends, [&] { return capture(ends); })) {
      graph->launch(stream);
      return;
    }
  }
  run_between(ends, stream);
}

// On the executable's own stream: a stream of the caller is never left recording.
CapturedGraph Executable::capture(Ends ends) {
  const auto explained = [&](const Error& error) {
    return concat("a pass of batch ", batch_, " could not be captured as a CUDA graph: ", error.what(),
                  "; later passes run without one, and graph off captures none");
  };
  try {
    return CapturedGraph::capture(stream_, [&] { run_between(ends, stream_); });
  } catch (const MemoryError& error) {
    throw MemoryError(explained(error));
  } catch (const DeviceError& error) {
    if (device_lost(device_)) throw;
    throw DeviceError(explained(error));
  }
}

size_t Executable::end_alignment(const TensorView& own) const noexcept {
  return device_.is_cuda() ? kEndAlignment : std::min(bytes_of(own.type, 1), sizeof(float));
}

void Executable::check_place(ConstTensorView given, ConstTensorView own, const char* role,
                             size_t alignment) const {
  if (!given.data || given.shape != own.shape || given.type != own.type || given.device != device_) {
    throw UsageError(concat("the ", role, " of run() must be ", to_string(own.type), " [",
                            own.shape.to_string(), "] on ", device_.to_string(), ", found ",
                            given.data ? "" : "no memory for ", to_string(given.type), " [",
                            given.shape.to_string(), "] on ", given.device.to_string()));
  }
  if (!is_aligned(given.data, alignment)) {
    throw UsageError(concat("the ", role, " of run() must be aligned to ", alignment, " bytes"));
  }
}

// A pass overwrites neither input nor output, so no other buffer shares their addresses.
void Executable::move_ends(Ends from, Ends to) noexcept {
  for (Step& step : steps_) {
    for (ConstTensorView& view : step.inputs) {
      if (view.data == from.input) view.data = to.input;
    }
    if (step.output.data == from.output) step.output.data = to.output;
  }
}

// Lets the steps read and write elsewhere while it lives.
class Executable::StepsAt {
 public:
  StepsAt(Executable& executable, Ends ends)
      : executable_(executable), own_{executable.input_.data, executable.output_.data}, ends_(ends) {
    executable_.move_ends(own_, ends_);
  }
  ~StepsAt() { executable_.move_ends(ends_, own_); }
  StepsAt(const StepsAt&) = delete;
  StepsAt& operator=(const StepsAt&) = delete;

 private:
  Executable& executable_;
  Ends own_, ends_;
};

// The last slice ends where the pass does. Types other than fp32 have one slice.
Executable::Ends Executable::slice_of(Ends pass, int64_t slice) const noexcept {
  const int64_t first = std::min(slice * slice_samples_, batch_ - slice_samples_);
  return {pass.input + first * (input_.shape.num_elements() / batch_),
          pass.output + first * (output_.shape.num_elements() / batch_)};
}

void Executable::run_between(Ends pass, Stream& stream) {
  for (int64_t slice = 0; slice < slices(); ++slice) {
    const StepsAt here(*this, slice_of(pass, slice));
    for (size_t i = 0; i < steps_.size(); ++i) visit_step(i, nullptr, stream, pass.pair_values);
  }
}

void Executable::run_checked() {
  check_own_ends();
  DeviceGuard guard(device_);
  if (captured_) {  // its layers ran one by one in the first pass
    run();
    stream_.synchronise();
  } else {
    NvtxRange range("run");
    for (int64_t slice = 0; slice < slices(); ++slice) {
      const StepsAt here(*this, slice_of({input_.data, output_.data}, slice));
      for (size_t i = 0; i < steps_.size(); ++i) run_step_and_wait(i, nullptr, stream_);
    }
  }
  checked_ = true;
}

void Executable::run_first_checked() {
  if (checked_) {
    run();
  } else {
    run_checked();
  }
}

void Executable::run_step(size_t index, Tracer* tracer, int64_t slice) {
  const StepsAt here(*this, slice_of({input_.data, output_.data}, slice));
  visit_step(index, tracer, stream_);
}

void Executable::visit_step(size_t index, Tracer* tracer, Stream& stream, float* pair_values) {
  if (checks_layers()) {
    run_step_and_wait(index, tracer, stream, pair_values);
  } else {
    enqueue_step(index, tracer, stream, pair_values);
  }
}

void Executable::run_step_and_wait(size_t index, Tracer* tracer, Stream& stream, float* pair_values) {
  enqueue_step(index, tracer, stream, pair_values);
  try {
    stream.synchronise();
  } catch (const DeviceError& error) {
    throw DeviceError(concat(describe(steps_[index]), ": ", error.what()));
  }
}

void Executable::enqueue_step(size_t index, Tracer* tracer, Stream& stream, float* pair_values) {
  static NvtxTracer nvtx_tracer;
  Step& step = steps_[index];
  NvtxRange range(step.range.c_str()), backend_range(step.backend_range.c_str());
  RunContext context{stream, workspace_.data(), tracer ? tracer : &nvtx_tracer, pair_values};
  try {
    step.op->run(step.inputs, step.output, context);
  } catch (const DeviceError& error) {
    // A kernel of an earlier layer may have failed; this launch would be the first to report it.
    const char* const which = device_lost(device_) ? " or before it" : "";
    throw DeviceError(concat(describe(step), which, ": ", error.what()));
  }
}

}  // namespace lenslet
