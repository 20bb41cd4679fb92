// Subjects: what every backend is verified on. `lenslet doctor` and the tests of layers, determinism, captures and
// sanitizers run this one list, each as much of it as it has time for.
//
// Backends come from the registries, so a new backend is verified on every subject of its operation. Installed programs
// run the short list; the lists of convolutions that the tests add are files, layers/conv/problems/*.txt.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/graph/graph.h"
#include "framework/graph/layer.h"
#include "layers/reference/verify_result.h"

namespace lenslet::reference {

/// Options common to all subjects of a list.
struct SubjectOptions {
  uint64_t seed = 1;                  // of weights and inputs
  size_t workspace_limit = SIZE_MAX;  // bytes
};

/// One operation at one shape, with its data and the reference values.
class Subject {
 public:
  virtual ~Subject() = default;
  virtual std::string_view operation() const = 0;   // "conv2d", "linear", "gemm"
  virtual const std::string& problem() const = 0;   // "linear 5x256 -> 120"
  virtual std::string fused() const { return {}; }  // "max pool 2x2": computed in the same run
  virtual bool uses_math() const = 0;               // false: fp32 only
  /// Names in rank order, including backends that this build or machine lacks.
  virtual std::vector<std::string> backends(DeviceKind kind) const = 0;
  /// Opens that backend's module. Throws UnavailableError with the loader's reason.
  virtual void open(DeviceKind /*kind*/, const std::string& /*backend*/) const {}
  /// False if that backend cannot fuse the operations of fused().
  virtual bool offered(DeviceKind /*kind*/, const std::string& /*backend*/, MathMode /*math*/) const {
    return true;
  }
  /// Compares that backend's results on the device of `stream` with the reference's, in guarded memory, in two runs.
  /// `shift`: offset of inputs and output from an aligned address, in values. Throws UnavailableError or MemoryError if
  /// the backend refuses.
  VerifyResult verify(const std::string& backend, MathMode math, Stream& stream, int64_t shift = 0) const {
    return judge(backend, math, stream, shift);
  }
  /// The layer; null if the operation is not a layer.
  virtual std::shared_ptr<const Layer> layer() const { return nullptr; }
  /// The shapes of its inputs, with batch.
  virtual std::vector<Shape> inputs() const { return {}; }

 private:
  virtual VerifyResult judge(const std::string& backend, MathMode math, Stream& stream,
                             int64_t shift) const = 0;
};

/// A list of subjects.
using Subjects = std::vector<std::unique_ptr<Subject>>;

/// The short list of `lenslet doctor`, which takes seconds: LeNet-5's operations and odd shapes of every operation.
Subjects short_subjects(SubjectOptions options = {});
/// Every operation except convolutions, whose lists are files, at every size and window that a kernel treats
/// differently; each is judged once.
Subjects long_subjects();
/// One sample each of shapes that take every path of a kernel, for tests that run a subject with many batches and many
/// times. They use layer() only. `folder` contains the problem lists.
Subjects repeated_subjects(const std::string& folder);

/// Allowed deviation of a sum of `terms` products and one more term, relative to the sum of their magnitudes.
double sum_factor(int64_t terms, MathMode math);

/// One request for the whole network.
struct NetworkSubject {
  std::string backend;      // a backend of Graph::network()
  OperatorRequest request;  // device, batch, math mode, input and output
};
/// Every backend, math mode, input and output at each of these batches, including those that a backend refuses.
std::vector<NetworkSubject> network_subjects(const Graph& model, Device device,
                                             const std::vector<int64_t>& batches);

}  // namespace lenslet::reference
