// FusedModel: a whole graph computed at once, in one or two kernels whose intermediates never leave the processor.
//
// It hangs on the graph it computes (Graph::set_fused) and offers variants, as a layer offers backends; the executable
// runs it where the plan's execution is "fused".
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/layer.h"

namespace lenslet {

/// What a fused model is asked to be prepared for.
struct FusedRequest {
  Device device;                           // where it is to run
  int64_t batch = 1;                       // images of a pass
  MathMode math = MathMode::kFp32;         // arithmetic of the products
  ElementType input = ElementType::kFp32;  // kFp32: normalised, as the graph reads it; kUint8: raw pixels
  ElementType output =
      ElementType::kFp32;  // kFp32: the graph's output (logits); kPrediction: class and probability
};

class FusedModel {
 public:
  virtual ~FusedModel() = default;
  /// Arithmetic of a whole batch, counted layer by layer for the direct algorithm; bytes are input, weights and output.
  virtual Work work(const FusedRequest& request) const = 0;
  /// Names of the variants for that kind of device, in rank order.
  virtual std::vector<std::string> variants(DeviceKind kind) const = 0;
  /// Yes, or why not. Cheap, works without the device; a name that variants() does not list is refused with the legal
  /// names.
  virtual Support supports(const std::string& variant, const FusedRequest& request) const = 0;
  /// The variant `auto` takes: the first that supports the request; empty for none.
  virtual std::string preferred(const FusedRequest& request) const;
  /// How far an element of the graph's output may lie from the exact one, for inputs of the kind the model was made for:
  /// an absolute bound.
  virtual double output_bound(const std::string& variant, const FusedRequest& request) const = 0;
  /// Which bits of its output that variant repeats, for a request that it supports. The input's type is part of the request.
  virtual Determinism determinism(const std::string& variant, const FusedRequest& request) const = 0;
  /// Prepares. The operator's run() takes one input view [N, ...] of the request's input type and an output view of its
  /// output type ([N, classes] fp32, or [N] predictions); both lie on the device or in page-locked host memory that it
  /// can address. A NaN in a sample shows in that sample's output and in no other's. Throws UnavailableError where supports() says no.
  virtual std::unique_ptr<Operator> prepare(const std::string& variant, const FusedRequest& request,
                                            Stream& stream) const = 0;
};

}  // namespace lenslet
