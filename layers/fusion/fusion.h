// The layers that another one can compute before it stores: a ReLU or another rectifier, a max pooling, or both.
#pragma once

#include <optional>

#include "framework/graph/layer.h"
#include "layers/activation/activation_layer.h"
#include "layers/pool/pool_layer.h"
#include "layers/rectifier.h"
#include "layers/relu/relu_layer.h"

namespace lenslet {

/// The remedy where no backend fuses a layer.
inline constexpr const char* kLeaveApart = ": leave that layer unfused";

/// What a backend computes besides its layer. Rectifiers and max pooling commute, so their order does not matter.
struct Fusion {
  Rectifier rectifier;                   ///< Apply it to each value; none() by default.
  std::optional<Pool2dWindow> max_pool;  ///< Store only the maxima over these windows.
  Support support = Support::yes();      ///< No, with the reason, for other layers or one that occurs twice.
};

/// The rectifier that an activation is; none for another function.
inline std::optional<Rectifier> rectifier_of(const ActivationLayer& layer) {
  const Activation function = layer.function();
  if (function == Activation::kClip && layer.a() == 0 && layer.b() >= 0) return Rectifier(0, layer.b());
  if (function == Activation::kLeakyRelu && layer.a() >= 0 && layer.a() <= 1)
    return Rectifier(layer.a(), INFINITY);
  return std::nullopt;
}

/// What OperatorRequest::fused holds.
inline Fusion read_fusion(const std::vector<const Layer*>& fused) {
  Fusion fusion;
  for (const Layer* layer : fused) {
    const auto* const pool = dynamic_cast<const MaxPool2dLayer*>(layer);
    const auto* const activation = dynamic_cast<const ActivationLayer*>(layer);
    std::optional<Rectifier> rectifier;
    if (activation) rectifier = rectifier_of(*activation);
    if (dynamic_cast<const ReluLayer*>(layer)) rectifier = Rectifier(true);
    if (!pool && !rectifier) {
      fusion.support =
          Support::no(concat("a rectifier or max pooling can be fused, found ",
                             activation ? activation->describe() : std::string(layer->type()), kLeaveApart));
      return fusion;
    }
    // Exporters write ReLU6 as Relu and Clip.
    const bool limits = activation && fusion.rectifier.relu() && rectifier && rectifier->slope == 0;
    if (pool ? fusion.max_pool.has_value() : !fusion.rectifier.none() && !limits) {
      fusion.support = Support::no(
          concat("one ", pool ? "max pooling" : "rectifier", " can be fused, found two", kLeaveApart));
      return fusion;
    }
    if (pool && !pool->window().plain()) {
      fusion.support = fusible(pool->window());
      return fusion;
    }
    if (rectifier) fusion.rectifier = *rectifier;
    if (pool) fusion.max_pool = pool->window();
  }
  return fusion;
}

}  // namespace lenslet
