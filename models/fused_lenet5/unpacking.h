// Internal: UnpackingOperator, which unpacks 4-bit pixels to bytes in its workspace for an operator that reads bytes.
// The bus carries half the bytes; the device's memory carries them three times more, which costs far less.
#pragma once

#include <memory>

#include "framework/graph/layer.h"

namespace lenslet {

class UnpackingOperator : public Operator {
 public:
  /// `network` was prepared for the same request with bytes as its input, an even number of them.
  UnpackingOperator(std::unique_ptr<Operator> network, const OperatorRequest& request);

  size_t workspace_bytes() const override { return bytes_ + network_->workspace_bytes(); }
  std::string detail() const override;
  std::string choice() const override { return network_->choice(); }
  double products_saved() const override { return network_->products_saved(); }
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override;

 private:
  std::unique_ptr<Operator> network_;
  size_t bytes_;                         // of the unpacked pixels, rounded up to Buffer::kAlignment
  std::vector<ConstTensorView> pixels_;  // what the network reads; a member, because run() must not allocate
};

}  // namespace lenslet
