// Named stages inside a layer ("im2col", "gemm"): seen by Nsight as NVTX ranges, timed apart by the profiler.
#pragma once

namespace lenslet {

/// Receives the borders of stages. Virtual, so that modules opened at run time report to the program's
/// tracer.
class Tracer {
 public:
  virtual ~Tracer() = default;
  /// `name` must outlive the tracer (a literal). Ranges nest strictly.
  virtual void begin(const char* name) = 0;
  /// Ends what begin() began last.
  virtual void end() noexcept = 0;
};

/// Marks one stage for the length of a scope; nothing when there is no tracer.
class ScopedStage {
 public:
  /// A null tracer: nothing is recorded.
  ScopedStage(Tracer* tracer, const char* name) : tracer_(tracer) {
    if (tracer_) tracer_->begin(name);
  }
  ~ScopedStage() {
    if (tracer_) tracer_->end();
  }
  ScopedStage(const ScopedStage&) = delete;
  ScopedStage& operator=(const ScopedStage&) = delete;

 private:
  Tracer* tracer_;
};

}  // namespace lenslet
