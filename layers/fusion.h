// The layers that a convolution or a linear layer can compute before it stores: a ReLU, a max pooling, or both.
#pragma once

#include <optional>

#include "framework/graph/layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/relu/relu_layer.h"

namespace lenslet {

/// What a backend computes besides its layer. ReLU and max pooling commute, so their order does not matter.
struct Fusion {
  bool relu = false;                     ///< Apply max(x, 0).
  std::optional<Pool2dWindow> max_pool;  ///< Store only the maxima over these windows.
  Support support = Support::yes();      ///< No, with the reason, for other layers or one that occurs twice.
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
    if (pool && !pool->window().plain()) {
      fusion.support = Support::no("max pooling with uneven padding, dilation or ceil cannot be fused");
      return fusion;
    }
    if (relu) fusion.relu = true;
    if (pool) fusion.max_pool = pool->window();
  }
  return fusion;
}

}  // namespace lenslet
