// Convolutions, matrix products and normalisations as layers.
#include <algorithm>
#include <cmath>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "layers/conv/conv_layer.h"
#include "layers/linear/linear_layer.h"
#include "layers/lrn/lrn_layer.h"
#include "models/onnx/import/import_window.h"
#include "models/onnx/import/importer.h"

namespace lenslet::onnx {
namespace {

std::vector<float> scaled(std::vector<float> values, const std::vector<double>& scale) {
  const size_t each = values.size() / std::max<size_t>(scale.size(), 1);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(values[i] * scale[i / each]);
  return values;
}

std::vector<float> rounded(const std::vector<double>& values) { return {values.begin(), values.end()}; }

void check_finite(const std::vector<float>& values) {
  if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); }))
    throw Unsupported{"its weights are not finite once what follows is folded into them"};
}

}  // namespace

void Importer::conv(const Node& node) {
  if (!is_constant(node, 1) || (has(node, 2) && !is_constant(node, 2)))
    throw Unsupported{"weights that are not constant are not supported"};
  const Shape x = shape(node.inputs.at(0)), &w = constants_.shape(node.inputs[1]);
  if (x.rank() != 3 && x.rank() != 4)
    throw Unsupported{concat("Lenslet convolves [N, C, L] and [N, C, H, W] only, found ", x.to_string())};
  const Window window = window_of(node, x, w.sample().sample().dims());
  // A Pad before it has not changed the values that are held.
  Sizes pads = window.pads, around = data(node).pads;
  around.resize(4, 0);
  for (size_t i = 0; i < around.size(); ++i) pads[i] += around[i];
  const Shape& padded = window.planes;
  const Held input = shaped(
      node, 0,
      Shape{padded[0], padded[1], padded[2] - around[0] - around[2], padded[3] - around[1] - around[3]});

  Conv2dProblem geometry;
  geometry.k = to_int(w[0]);
  geometry.groups = to_int(node.integer_or("group", 1));
  geometry.c = to_int(w[1] * geometry.groups);
  geometry.r = to_int(window.size[0]);
  geometry.s = to_int(window.size[1]);
  geometry.stride_h = to_int(window.strides[0]);
  geometry.stride_w = to_int(window.strides[1]);
  geometry.dilation_h = to_int(window.dilations[0]);
  geometry.dilation_w = to_int(window.dilations[1]);
  geometry.pad_h = to_int(pads[0]);
  geometry.pad_w = to_int(pads[1]);
  geometry.more_pad_h = to_int(pads[2] - pads[0]);
  geometry.more_pad_w = to_int(pads[3] - pads[1]);

  Affine affine{std::vector<double>(static_cast<size_t>(w[0]), 1.0), {}};
  if (has(node, 2)) {
    const std::vector<float> bias = constants_.floats(node.inputs[2]);
    if (static_cast<int64_t>(bias.size()) != w[0])
      throw Unsupported{concat("its bias has ", bias.size(), " values, expected ", w[0])};
    affine.shift.assign(bias.begin(), bias.end());
  } else {
    affine.shift.assign(static_cast<size_t>(w[0]), 0.0);
  }
  check_room(geometry.weight_shape().num_elements());
  std::vector<float> weights = constants_.floats(node.inputs[1]);
  const std::string output = fold_readers(node.outputs.at(0), 1, affine);
  weights = scaled(std::move(weights), affine.scale);
  const std::vector<float> bias = rounded(affine.shift);
  check_finite(weights);
  check_finite(bias);
  auto layer = std::make_unique<Conv2dLayer>(geometry, tensor(geometry.weight_shape(), weights),
                                             tensor({geometry.k}, bias));
  put(node, std::move(layer), {input});
  if (output != node.outputs[0]) held_[output] = held_[node.outputs[0]];
}

void Importer::gemm(const Node& node) {
  if (node.integer_or("transA", 0) != 0) throw Unsupported{"transA 1 is not supported"};
  linear(node, node.integer_or("transB", 0) != 0, node.real_or("alpha", 1), node.real_or("beta", 1));
}

void Importer::matmul(const Node& node) { linear(node, false, 1, 1); }

// In more than two dimensions, which only MatMul takes, the rows of the last one are the vectors.
void Importer::linear(const Node& node, bool weights_transposed, double alpha, double beta) {
  if (is_constant(node, 0) || !is_constant(node, 1) || (has(node, 2) && !is_constant(node, 2)))
    throw Unsupported{"Lenslet multiplies data by constant weights only"};
  const Shape x = shape(node.inputs.at(0));
  Sizes matrix = constants_.shape(node.inputs[1]).dims();
  while (matrix.size() > 2 && matrix.front() == 1) matrix.erase(matrix.begin());
  if (x.rank() < 2 || matrix.size() != 2)
    throw Unsupported{concat("Lenslet multiplies [N, I] or [N, ..., I] by weights [I, O] only, found ",
                             x.to_string(), " by ", constants_.shape(node.inputs[1]).to_string())};
  const bool rows = x.rank() > 2;
  const Held input = rows ? shaped(node, 0) : data(node);
  const int64_t outputs = matrix[weights_transposed ? 0 : 1], inputs = matrix[weights_transposed ? 1 : 0];
  check_room(outputs * inputs);
  std::vector<float> weights = constants_.floats(node.inputs[1]);
  if (!weights_transposed) weights = transposed(weights, {inputs, outputs}, {1, 0});
  // Weights for another number of inputs are refused by the layer.
  if (input.transposition && inputs == input.shape.num_elements())
    weights = input.transposition->undone(weights, outputs);

  const auto count = static_cast<size_t>(outputs);
  Affine affine{std::vector<double>(count, alpha), std::vector<double>(count, 0.0)};
  if (has(node, 2)) {
    const auto bias = per_channel(node.inputs[2], 2, 1, outputs);
    if (!bias)
      throw Unsupported{concat("it adds ", constants_.shape(node.inputs[2]).to_string(),
                               ", expected a bias of ", outputs, " values")};
    for (size_t i = 0; i < count; ++i) affine.shift[i] = beta * (*bias)[i];
  }
  const std::string output = fold_readers(node.outputs.at(0), x.rank() - 1, affine);
  weights = scaled(std::move(weights), affine.scale);
  const std::vector<float> bias = rounded(affine.shift);
  check_finite(weights);
  check_finite(bias);
  put(node,
      std::make_unique<LinearLayer>(tensor({outputs, inputs}, weights), tensor({outputs}, bias),
                                    rows ? LinearVectors::kRows : LinearVectors::kSamples),
      {input});
  if (output != node.outputs[0]) held_[output] = held_[node.outputs[0]];
}

void Importer::lrn(const Node& node) {
  const Shape x = shape(node.inputs.at(0));
  if (x.rank() < 3)
    throw Unsupported{concat("Lenslet normalises the channels of [N, C, sizes] only, found ", x.to_string())};
  // A window that reaches beyond all channels sums as many as one that just does; alpha is divided by the size.
  const int64_t stated = node.integer_or("size", 0), size = std::min(stated, 2 * x[1] + 1);
  const double alpha = node.real_or("alpha", 1e-4f);
  const double share = size == stated ? 1 : static_cast<double>(size) / static_cast<double>(stated);
  try {
    put(node,
        std::make_unique<LrnLayer>(size, static_cast<float>(alpha * share), node.real_or("beta", 0.75f),
                                   node.real_or("bias", 1)),
        {shaped(node, 0)});
  } catch (const DataError& error) {
    throw Unsupported{error.what()};
  }
}

// Where no layer before it takes it, it is a convolution of 1x1 in as many groups as channels.
void Importer::batch_normalisation(const Node& node) {
  const Shape x = shape(node.inputs.at(0));
  if (x.rank() < 2 || x.rank() > 4)
    throw Unsupported{"Lenslet normalises [N, C], [N, C, L] and [N, C, H, W] only"};
  const int64_t channels = x[1];
  check_room(2 * channels);
  const Affine affine = affine_of(node, channels);
  const Shape planes = x.rank() == 2 ? Shape{x[0], channels, 1, 1} : as_planes(x);
  const Held input = shaped(node, 0, planes);
  Conv2dProblem geometry;
  geometry.k = geometry.c = geometry.groups = to_int(channels);
  geometry.r = geometry.s = 1;
  const std::vector<float> scale = rounded(affine.scale), shift = rounded(affine.shift);
  check_finite(scale);
  check_finite(shift);
  put(node,
      std::make_unique<Conv2dLayer>(geometry, tensor(geometry.weight_shape(), scale),
                                    tensor({channels}, shift)),
      {input});
}

}  // namespace lenslet::onnx
