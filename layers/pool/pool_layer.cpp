#include "layers/pool/pool_layer.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "layers/function_operator.h"
#include "layers/pool/pool_backend.h"

namespace lenslet {
namespace {

// Whether one of `count` windows covers none of the `size` input values. Only a dilated window can.
bool holds_empty(int64_t count, int64_t size, const WindowDirection& window) {
  if (window.dilation == 1) return false;
  for (int64_t p = 0; p < count; ++p) {
    const int64_t begin = p * window.stride - window.pad;
    const int64_t first = begin >= 0 ? 0 : ceil_div(-begin, int64_t{window.dilation});
    if (first >= window.size || begin + first * window.dilation >= size) return true;
  }
  return false;
}

// "a 3x3 window with dilation 2".
std::string window_words(const Pool2dWindow& v) {
  const bool dilated = v.dilation_h != 1 || v.dilation_w != 1;
  return concat("a ", v.r, "x", v.s, " window",
                dilated ? " with dilation " + pair_text(v.dilation_h, v.dilation_w) : "");
}

}  // namespace

Pool2dLayer::Pool2dLayer(Kind kind, Pool2dWindow window) : kind_(kind), window_(window) {
  const Pool2dWindow& v = window_;
  if (v.r < 1 || v.s < 1 || v.stride_h < 1 || v.stride_w < 1 || v.dilation_h < 1 || v.dilation_w < 1) {
    throw DataError(concat("pooling needs a window, a stride and a dilation of at least 1, found window ",
                           v.r, "x", v.s, ", stride ", v.stride_h, "x", v.stride_w, ", dilation ",
                           v.dilation_h, "x", v.dilation_w));
  }
  const auto wrong = [](const WindowDirection& direction) {
    const int64_t after = int64_t{direction.pad} + direction.more_pad, reach = direction.reach();
    return direction.pad < 0 || after < 0 || direction.pad > reach || after > reach;
  };
  if (wrong(v.down()) || wrong(v.across())) {
    throw DataError(concat("pooling with ", window_words(v), " supports padding from 0 to ", v.down().reach(),
                           "x", v.across().reach(), ", found ", v.pad_h, "x", v.pad_w, " before and ",
                           int64_t{v.pad_h} + v.more_pad_h, "x", int64_t{v.pad_w} + v.more_pad_w, " after"));
  }
}

std::string Pool2dLayer::describe() const {
  return window_.to_string() + (kind_ == Kind::kAverageInside ? " padding not counted" : "");
}

Shape Pool2dLayer::infer_shape(const std::vector<Shape>& inputs) const {
  const Shape& x = only_input(inputs);
  if (x.rank() != 4)
    throw DataError(concat(type(), " expected an input [N, C, H, W], found ", x.to_string()));
  const Pool2dWindow& v = window_;
  const int64_t rows = v.rows(x[2]), columns = v.columns(x[3]);
  if (rows < 1 || columns < 1) {
    throw DataError(concat(type(), " with ", window_words(v), " expected a padded input of at least ",
                           v.down().reach() + 1, "x", v.across().reach() + 1, ", found ",
                           x[2] + 2 * int64_t{v.pad_h} + v.more_pad_h, "x",
                           x[3] + 2 * int64_t{v.pad_w} + v.more_pad_w, " from ", x.to_string()));
  }
  if (holds_empty(rows, x[2], v.down()) || holds_empty(columns, x[3], v.across())) {
    throw DataError(concat(type(), " of ", x.to_string(), " has a window that holds padding only"));
  }
  return {x[0], x[1], rows, columns};
}

Work Pool2dLayer::work(const std::vector<Shape>& inputs) const {
  const Shape y = infer_shape(inputs);
  const Shape& x = inputs[0];
  const Shape read{x[0], x[1], window_.down().cells_read(x[2], y[2]),
                   window_.across().cells_read(x[3], y[3])};
  return {static_cast<double>(y.num_elements()) * window_.r * window_.s,
          static_cast<double>(read.bytes()) + static_cast<double>(y.bytes()), 0,
          static_cast<double>(x.num_elements() - read.num_elements())};
}

std::vector<const BackendEntry*> Pool2dLayer::backend_entries(DeviceKind kind) const {
  return pool_table().entry_pointers(kind);
}

std::unique_ptr<Operator> Pool2dLayer::make_operator(const BackendEntry& backend,
                                                     const OperatorRequest& request,
                                                     Stream& /*stream*/) const {
  const Shape y = infer_shape(request.inputs);
  const Shape& x = request.inputs[0];
  Pool2dProblem problem;
  problem.kind = kind_ == Kind::kMax       ? PoolKind::kMax
                 : kind_ == Kind::kAverage ? PoolKind::kAverage
                                           : PoolKind::kAverageInside;
  problem.window = window_;
  problem.planes = x[0] * x[1];
  problem.h = x[2];
  problem.w = x[3];
  problem.p = y[2];
  problem.q = y[3];
  return function_operator<PoolBackend>(backend, problem);
}

}  // namespace lenslet
