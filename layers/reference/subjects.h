// Subjects: what every backend is verified on. One list, which `lenslet doctor` and the tests of layers, determinism,
// captures and sanitizers run, each as much of it as it has time for.
//
// Backends come from the registries: a new one is verified on every subject of its operation with its row alone.
// Programs that are installed run the short list; the lists of convolutions that the tests add are files,
// layers/conv/problems/*.txt.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/fused_model.h"
#include "framework/layer.h"
#include "layers/reference/verify_result.h"

namespace lenslet::reference {

/// What all subjects of a list have in common.
struct SubjectOptions {
  uint64_t seed = 1;                  // of weights and inputs
  size_t workspace_limit = SIZE_MAX;  // bytes
};

/// One operation at one shape, with its data and the judge's answers.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::string_view operation() const = 0;   // "conv2d", "linear", "gemm"
  virtual const std::string& problem() const = 0;   // "linear 5x256 -> 120"
  virtual std::string fused() const { return {}; }  // "max pool 2x2": computed in the same run
  virtual bool uses_math() const = 0;               // false: in fp32 alone
  /// Names in rank order, those that this build or this machine lacks included.
  virtual std::vector<std::string> backends(DeviceKind kind) const = 0;
  /// Opens that backend's module. Throws UnavailableError with the loader's reason.
  virtual void open(DeviceKind /*kind*/, const std::string& /*backend*/) const {}
  /// False if that backend cannot fuse the operations of fused().
  virtual bool offered(DeviceKind /*kind*/, const std::string& /*backend*/, MathMode /*math*/) const {
    return true;
  }
  /// Compares what that backend computes on the device of `stream` with the judge's answers, on guarded memory, twice.
  /// `shift`: of inputs and output from an aligned address, in values. Throws UnavailableError or MemoryError where the
  /// backend refuses.
  VerifyResult verify(const std::string& backend, MathMode math, Stream& stream, int64_t shift = 0) const {
    return judge(backend, math, stream, shift);
  }
  /// The layer; null where the operation is none.
  virtual std::shared_ptr<const Layer> layer() const { return nullptr; }
  /// The shape of its input, with batch.
  virtual Shape input() const { return {}; }

 private:
  virtual VerifyResult judge(const std::string& backend, MathMode math, Stream& stream,
                             int64_t shift) const = 0;
};

/// A list of them.
using Subjects = std::vector<std::unique_ptr<Subject>>;

/// LeNet-5's operations and odd shapes: convolutions, layers, matrix products. Seconds; what `lenslet doctor` runs.
Subjects short_subjects(SubjectOptions options = {});
/// Every operation but convolutions, whose lists are files, at every size and window that a kernel treats otherwise;
/// each is judged once.
Subjects long_subjects();
/// One sample each of shapes that take every path of a kernel, for tests that run a subject at many batches and many
/// times. They use layer() alone. `folder` holds the problem lists.
Subjects repeated_subjects(const std::string& folder);

/// Allowed deviation of a sum of `terms` products and one more term, over the sum of their magnitudes.
double sum_factor(int64_t terms, MathMode math);

/// One request for a whole network at once.
struct FusedSubject {
  std::string variant;   // of FusedModel::variants()
  FusedRequest request;  // device, batch, math mode, input and output
};
/// Every variant, math mode, input and output at each of these batches, those that a variant refuses included.
std::vector<FusedSubject> fused_subjects(const FusedModel& model, Device device,
                                         const std::vector<int64_t>& batches);

/// In the order in which they are tried.
inline constexpr MathMode kMathModes[] = {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16};

}  // namespace lenslet::reference
