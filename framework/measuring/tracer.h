// Named stages inside a layer ("im2col", "gemm"): NVTX ranges for Nsight, timed separately by the profiler.
#pragma once

namespace lenslet {

/// Receives the begin and end of stages. Virtual, so that modules opened at run time report to the program's tracer.
class Tracer {
 public:
  virtual ~Tracer() = default;
  /// `name` must outlive the tracer (a literal). Ranges nest strictly.
  virtual void begin(const char* name) = 0;
  /// Ends the stage that began last.
  virtual void end() noexcept = 0;
};

/// Marks one stage for a scope.
class ScopedStage {
 public:
  /// With a null tracer it does nothing.
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
