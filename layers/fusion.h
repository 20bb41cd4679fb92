// The layers that a convolution or a linear layer can compute before it stores: a ReLU, a max pooling, or both.
#pragma once

#include <optional>

#include "framework/layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/relu/relu_layer.h"

namespace lenslet {

struct Fusion {
  bool relu = false;  // apply max(x, 0)
  std::optional<Pool2dWindow>
      max_pool;  // store only the maxima over these windows; with relu both, which commute
  Support support = Support::yes();  // no, with the reason, if the layers are others, or one occurs twice
};

/// What OperatorRequest::fused holds.
inline Fusion read_fusion(const std::vector<const Layer*>& fused) {
  Fusion fusion;
  for (const Layer* layer : fused) {
    const auto* const pool = dynamic_cast<const MaxPool2dLayer*>(layer);
    const bool relu = dynamic_cast<const ReluLayer*>(layer) != nullptr;
    if (relu ? fusion.relu : pool ? fusion.max_pool.has_value() : true) {
      fusion.support =
          Support::no(concat(layer->type(), relu || pool ? " cannot be fused twice" : " cannot be fused"));
      return fusion;
    }
    if (relu) fusion.relu = true;
    if (pool) fusion.max_pool = pool->window();
  }
  return fusion;
}

}  // namespace lenslet
