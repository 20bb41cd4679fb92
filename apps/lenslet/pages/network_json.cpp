#include "apps/lenslet/pages/network_json.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/lenslet/pages/encode.h"
#include "framework/base/error.h"
#include "layers/activation/activation_layer.h"
#include "layers/conv/conv_layer.h"
#include "layers/linear/linear_layer.h"
#include "layers/pool/pool_layer.h"

namespace lenslet {
namespace {

using Json = nlohmann::ordered_json;

int64_t value_count(const Tensor* tensor) { return tensor ? tensor->shape().num_elements() : 0; }

Json base64_of(const Tensor& tensor) {
  if (tensor.shape().num_elements() == 0 || !tensor.data()) return nullptr;
  return base64(tensor.data(), tensor.shape().bytes());
}

// Windows of a convolution or of pooling: {window, stride, pad, dilation}, each [rows, columns].
template <class Windows>
Json window_json(const std::array<int64_t, 2>& window, const Windows& windows) {
  return {{"window", window},
          {"stride", {windows.stride_h, windows.stride_w}},
          {"pad", {windows.pad_h, windows.pad_w}},
          {"dilation", {windows.dilation_h, windows.dilation_w}}};
}

Json geometry_of(const Layer& layer, const Shape& input) {
  if (const auto* const conv = dynamic_cast<const Conv2dLayer*>(&layer)) {
    const Conv2dProblem p = conv->problem_for(input);
    Json json = window_json({p.r, p.s}, p);
    json["groups"] = p.groups;
    return json;
  }
  if (const auto* const pool = dynamic_cast<const Pool2dLayer*>(&layer)) {
    const Pool2dWindow& w = pool->window();
    Json json = window_json({w.r, w.s}, w);
    const auto* const mean = dynamic_cast<const AvgPool2dLayer*>(pool);
    // Only these windows have a number of values that is the same everywhere.
    json["plain"] = w.plain() && !w.ceil;
    json["counts_padding"] = mean && mean->counts_padding();
    return json;
  }
  return nullptr;
}

struct Weights {
  const Tensor *weights = nullptr, *bias = nullptr;
  int64_t values() const { return value_count(weights) + value_count(bias); }
};

Weights weights_of(const Layer& layer) {
  if (const auto* const conv = dynamic_cast<const Conv2dLayer*>(&layer))
    return {&conv->weights(), &conv->bias()};
  if (const auto* const linear = dynamic_cast<const LinearLayer*>(&layer))
    return {&linear->weights(), &linear->bias()};
  return {};
}

// The nodes whose weights the page has: as many as fit, the smallest first.
std::vector<bool> with_weights(const Graph& graph) {
  std::vector<std::pair<int64_t, size_t>> sizes;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    if (!graph.nodes()[i].layer) continue;
    const int64_t values = weights_of(*graph.nodes()[i].layer).values();
    if (values > 0) sizes.emplace_back(values, i);
  }
  std::sort(sizes.begin(), sizes.end());
  int64_t left = kPageValues;
  const std::vector<Shape> shapes = graph.infer_shapes(1);
  const std::vector<int64_t> channels = shown_channels(graph);
  for (size_t i = 0; i < shapes.size(); ++i) left -= channels[i] * channel_values(shapes[i]);
  std::vector<bool> with(graph.nodes().size());
  for (const auto& [values, node] : sizes) {
    if (values > left) break;
    left -= values;
    with[node] = true;
  }
  return with;
}

}  // namespace

int64_t channel_values(const Shape& shape) {
  return shape.rank() == 4 ? shape[2] * shape[3] : shape.num_elements() / shape[0];
}

int64_t channel_count(const Shape& shape) { return shape.rank() == 4 ? shape[1] : 1; }

std::vector<int64_t> shown_channels(const Graph& graph) {
  const std::vector<Shape> shapes = graph.infer_shapes(1);
  int64_t max_channels = 1;
  for (const Shape& shape : shapes) max_channels = std::max(max_channels, channel_count(shape));
  const auto total = [&](int64_t channels) {
    int64_t values = 0;
    for (const Shape& shape : shapes)
      values += std::min(channels, channel_count(shape)) * channel_values(shape);
    return values;
  };
  if (total(1) > kPageValues)
    throw DataError(concat("'", graph.name(), "' writes ", total(max_channels), " values for a picture, ",
                           total(1), " in one channel of each layer; a page shows at most ", kPageValues));
  while (total(max_channels) > kPageValues) --max_channels;
  std::vector<int64_t> channels;
  channels.reserve(shapes.size());
  for (const Shape& shape : shapes) channels.push_back(std::min(max_channels, channel_count(shape)));
  return channels;
}

Json nodes_json(const Graph& graph) {
  const std::vector<Shape> shapes = graph.infer_shapes(1);
  const std::vector<int64_t> channels = shown_channels(graph);
  const std::vector<bool> with = with_weights(graph);
  Json nodes = Json::array();
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Graph::Node& node = graph.nodes()[i];
    Json json = {{"name", node.name},
                 {"type", node.layer ? std::string(node.layer->type()) : "input"},
                 {"description", node.layer ? node.layer->describe() : ""},
                 {"inputs", node.inputs},
                 {"shape", shapes[i].sample().dims()},
                 {"shown_channels", channels[i]},
                 {"geometry", nullptr},
                 {"weights", nullptr},
                 {"bias", nullptr},
                 {"weight_count", 0}};
    if (node.layer) {
      const Shape& input = shapes[static_cast<size_t>(node.inputs.at(0))];
      json["geometry"] = geometry_of(*node.layer, input);
      const Weights weights = weights_of(*node.layer);
      json["weight_count"] = weights.values();
      if (with[i] && weights.weights) json["weights"] = base64_of(*weights.weights);
      if (with[i] && weights.bias) json["bias"] = base64_of(*weights.bias);
      if (const auto* const activation = dynamic_cast<const ActivationLayer*>(node.layer.get()))
        json["function"] = {activation->function_name(), activation->a(), activation->b()};
    }
    nodes.push_back(std::move(json));
  }
  return nodes;
}

std::string page_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace lenslet
