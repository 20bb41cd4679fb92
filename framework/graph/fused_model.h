// FusedModel: computes a whole graph in one or two kernels whose intermediate values stay on the processor.
//
// It is attached to its graph (Graph::set_fused) and offers variants, as a layer offers backends. The executable runs
// it if the plan's execution is "fused".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/graph/layer.h"

namespace lenslet {

/// The request that a variant is prepared for.
struct FusedRequest {
  Device device;                           // the device that runs it
  int64_t batch = 1;                       // images per pass
  MathMode math = MathMode::kFp32;         // arithmetic of the products
  ElementType input = ElementType::kFp32;  // kFp32: normalised, as the graph reads it; kUint8: raw pixels
  ElementType output =
      ElementType::kFp32;  // kFp32: the graph's output (logits); kClass: class and probability
};

class FusedModel {
 public:
  virtual ~FusedModel() = default;
  /// Operations of a whole batch, counted layer by layer for the direct algorithm; bytes of input, weights and output.
  virtual Work work(const FusedRequest& request) const = 0;
  /// Names of the variants for that kind of device, in rank order.
  virtual std::vector<std::string> variants(DeviceKind kind) const = 0;
  /// Yes, or no with the reason. Cheap, works without the device. A name that variants() does not list is refused with
  /// the legal names.
  virtual Support supports(const std::string& variant, const FusedRequest& request) const = 0;
  /// The variant `auto` takes: the first that supports the request; empty for none.
  virtual std::string preferred(const FusedRequest& request) const;
  /// Absolute bound on the error of an element of the graph's output, for inputs of the kind that the model was made
  /// for.
  virtual double output_bound(const std::string& variant, const FusedRequest& request) const = 0;
  /// The promise of that variant for a supported request, of which the input type is a part.
  virtual Determinism determinism(const std::string& variant, const FusedRequest& request) const = 0;
  /// Prepares a variant. The operator's run() takes one input view [N, ...] of the request's input type and an output
  /// view of its output type ([N, classes] fp32, or [N] predictions). Both are on the device or in page-locked host
  /// memory that the device can address.
  /// A NaN in a sample affects only that sample's output.
  /// Throws UnavailableError if supports() returns no.
  virtual std::unique_ptr<Operator> prepare(const std::string& variant, const FusedRequest& request,
                                            Stream& stream) const = 0;
};

}  // namespace lenslet
