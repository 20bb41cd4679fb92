// Pooling, and means and maxima over some dimensions, as layers.
#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/base/text.h"
#include "layers/pool/pool_layer.h"
#include "models/onnx/import/import_window.h"
#include "models/onnx/import/importer.h"

namespace lenslet::onnx {
namespace {

// Whether the window takes one value after another in dimension `d`.
bool is_trivial(const Window& window, size_t d) {
  const size_t rank = window.size.size();
  return window.size[d] == 1 && window.strides[d] == 1 && window.pads[d] == 0 && window.pads[d + rank] == 0;
}

// Leaves dimension `d` out of the window.
void drop(Window& window, size_t d) {
  const size_t rank = window.size.size();
  const auto at = [](Sizes& sizes, size_t i) { return sizes.begin() + static_cast<std::ptrdiff_t>(i); };
  window.pads.erase(at(window.pads, d + rank));
  for (Sizes* sizes : {&window.size, &window.strides, &window.dilations, &window.pads})
    sizes->erase(at(*sizes, d));
}

}  // namespace

Window window_of(const Node& node, const Shape& x, const Sizes& size) {
  const auto rank = static_cast<size_t>(x.rank()) - 2;
  const Sizes ones(rank, 1);
  Window window{as_planes(x), size, node.integers_or("strides", ones), node.integers_or("dilations", ones),
                node.integers_or("pads", Sizes(2 * rank, 0))};
  if (window.size.size() != rank || window.strides.size() != rank || window.dilations.size() != rank ||
      window.pads.size() != 2 * rank)
    throw Unsupported{concat("its window has ", window.size.size(), " dimensions, ", window.strides.size(),
                             " strides, ", window.dilations.size(), " dilations and ", window.pads.size(),
                             " pads; expected ", rank, " and twice as many pads")};
  const std::string automatic = node.text_or("auto_pad", "NOTSET");
  if (automatic != "NOTSET") std::fill(window.pads.begin(), window.pads.end(), 0);
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (size_t i = 0; i < rank; ++i) {
      const int64_t in = x[static_cast<int>(i) + 2], stride = window.strides[i];
      const int64_t span = window.dilations[i] * (window.size[i] - 1) + 1;
      const int64_t total = std::max<int64_t>((ceil_div(in, stride) - 1) * stride + span - in, 0);
      const int64_t less = total / 2, more = total - less;
      window.pads[i] = automatic == "SAME_UPPER" ? less : more;
      window.pads[i + rank] = total - window.pads[i];
    }
  } else if (automatic != "VALID" && automatic != "NOTSET") {
    throw Unsupported{"auto_pad " + printable_excerpt(automatic, 40) + " is not supported"};
  }
  if (rank == 1) {
    for (Sizes* sizes : {&window.size, &window.strides, &window.dilations}) sizes->insert(sizes->begin(), 1);
    window.pads = {0, window.pads[0], 0, window.pads[1]};
  } else if (rank == 3 && is_trivial(window, 1) && is_trivial(window, 2)) {
    window.planes = Shape{x[0], x[1], x[2], x[3] * x[4]};
    drop(window, 1);
  } else if (rank == 3 && is_trivial(window, 0)) {
    window.planes = Shape{x[0], x[1] * x[2], x[3], x[4]};
    drop(window, 0);
  } else if (rank != 2) {
    throw Unsupported{concat("windows of more than two dimensions are not supported, found ", rank)};
  }
  return window;
}

void Importer::pool(const Node& node) {
  const Shape x = shape(node.inputs.at(0));
  const Window window = window_of(node, x, node.integers_or("kernel_shape", {}));
  const Held input = shaped(node, 0, window.planes);
  Pool2dWindow pooled{to_int(window.size[0]),    to_int(window.size[1]), to_int(window.strides[0]),
                      to_int(window.strides[1]), to_int(window.pads[0]), to_int(window.pads[1])};
  pooled.more_pad_h = to_int(window.pads[2] - window.pads[0]);
  pooled.more_pad_w = to_int(window.pads[3] - window.pads[1]);
  pooled.dilation_h = to_int(window.dilations[0]);
  pooled.dilation_w = to_int(window.dilations[1]);
  pooled.ceil = node.integer_or("ceil_mode", 0) != 0 && node.text_or("auto_pad", "NOTSET") == "NOTSET";
  const Shape& in = input.shape;
  if (shape(node.outputs.at(0)).num_elements() != in[1] * pooled.rows(in[2]) * pooled.columns(in[3]))
    throw Unsupported{"ceil_mode 1 beside auto_pad is not supported where it adds a window"};
  std::unique_ptr<Layer> layer;
  try {
    if (node.op == "MaxPool")
      layer = std::make_unique<MaxPool2dLayer>(pooled);
    else
      layer = std::make_unique<AvgPool2dLayer>(pooled, node.integer_or("count_include_pad", 0) != 0);
  } catch (const DataError& error) {
    throw Unsupported{error.what()};
  }
  put(node, std::move(layer), {input});
}

// One window after another over all rows, and over all columns or each alone.
void Importer::pool_rows(const Node& node, const Shape& planes, bool columns) {
  const Held input = shaped(node, 0, planes);
  Pool2dWindow all;
  all.r = all.stride_h = to_int(planes[2]);
  all.s = all.stride_w = columns ? to_int(planes[3]) : 1;
  if (node.op == "GlobalMaxPool" || node.op == "ReduceMax")
    put(node, std::make_unique<MaxPool2dLayer>(all), {input});
  else
    put(node, std::make_unique<AvgPool2dLayer>(all), {input});
}

void Importer::global_pool(const Node& node) {
  const Shape x = shape(node.inputs.at(0));
  if (x.rank() != 3 && x.rank() != 4)
    throw Unsupported{concat("Lenslet pools [N, C, L] and [N, C, H, W] only, found ", x.to_string())};
  pool_rows(node, as_planes(x), true);
}

// Dimensions that are next to each other are the rows of a plane, and those after them its columns.
void Importer::reduce(const Node& node) {
  const Shape x = shape(node.inputs.at(0));
  Sizes axes = node.integers_or("axes", {});
  if (has(node, 1)) {
    if (!values_.at(node.inputs[1]).integers)
      throw Unsupported{"axes that are not constant are not supported"};
    axes = *values_.at(node.inputs[1]).integers;
  }
  if (axes.empty() && node.integer_or("noop_with_empty_axes", 0) != 0) return same_values(node);
  for (int64_t& axis : axes) axis = from_front(axis, x.rank());
  std::sort(axes.begin(), axes.end());
  if (axes.empty() || axes[0] == 0) throw Unsupported{"the samples of a batch cannot be reduced to one"};
  if (axes.back() - axes[0] + 1 != static_cast<int64_t>(axes.size()))
    throw Unsupported{concat(node.op, " is supported over dimensions next to each other only")};
  if (x.rank() == 4 && axes == Sizes{2, 3}) return pool_rows(node, x, true);
  Sizes planes = {1, 1, 1, 1};
  for (int i = 1; i < x.rank(); ++i) planes[i < axes[0] ? 1 : i <= axes.back() ? 2 : 3] *= x[i];
  pool_rows(node, Shape(planes.data(), 4), false);
}

}  // namespace lenslet::onnx
