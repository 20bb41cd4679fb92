// The judge's functions of one value and of two, and its moves of values.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "layers/reference/reference.h"

namespace lenslet::reference {
namespace {

using Sizes = std::vector<int64_t>;

Result empty_result(const Sizes& dims) { return {Shape(dims), {}, {}}; }

void append(Result& result, double value, double magnitude) {
  result.values.push_back(value);
  result.magnitudes.push_back(magnitude);
}

// The place of an index in C order.
int64_t place_of(const Shape& shape, const Sizes& index) {
  int64_t place = 0;
  for (int i = 0; i < shape.rank(); ++i) place = place * shape[i] + index[static_cast<size_t>(i)];
  return place;
}

// Calls visit(index) for every index in C order.
void for_each_index(const Sizes& dims, const std::function<void(const Sizes&)>& visit) {
  Sizes index(dims.size(), 0);
  while (true) {
    visit(index);
    size_t d = dims.size();
    while (d > 0 && ++index[d - 1] == dims[d - 1]) index[--d] = 0;
    if (d == 0) return;
  }
}

// A magnitude that lets a result below the smallest normal number, 2^-126, be 0: an error of 2^-24 of it.
constexpr double kOfSmallest = 0x1p-102;

// The judge's functions, by the names of ActivationLayer.
Term activated(const std::string& f, double x, double a, double b) {
  const auto alone = [](double value) { return Term{value, std::fabs(value)}; };
  const auto elu = [](double v, double alpha) { return v < 0 ? alpha * std::expm1(v) : v; };
  const double hard = std::min(std::max(a * x + b, 0.0), 1.0);
  const double sigmoid = 1 / (1 + std::exp(-x)),
               softplus = std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
  if (f == "abs") return alone(std::fabs(x));
  if (f == "ceil") return alone(std::ceil(x));
  if (f == "celu") return {x < 0 ? a * std::expm1(x / a) : x, x < 0 ? 2 * a + std::fabs(x) : x};
  if (f == "clip") return alone(std::min(std::max(x, a), b));
  if (f == "elu") return {elu(x, a), x < 0 ? 2 * a : x};
  if (f == "erf") return alone(std::erf(x));
  if (f == "exp") return {std::exp(x), std::exp(x) * (1 + std::fabs(x))};
  if (f == "floor") return alone(std::floor(x));
  if (f == "gelu") return {x * std::erfc(-x / std::sqrt(2.0)) / 2, std::fabs(x)};
  if (f == "gelu_tanh") {
    const double inner = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
    return {x * (1 + std::tanh(inner)) / 2, std::fabs(x)};
  }
  if (f == "hard_sigmoid") return {hard, std::fabs(a * x) + std::fabs(b)};
  if (f == "hard_swish") return {x * hard, std::fabs(x) * (std::fabs(a * x) + std::fabs(b))};
  if (f == "leaky_relu") return alone(x < 0 ? a * x : x);
  if (f == "log") return {std::log(x), std::fabs(std::log(x)) + 1};
  if (f == "mish") return {x * std::tanh(softplus), std::fabs(x)};
  if (f == "neg") return alone(-x);
  if (f == "reciprocal") return alone(1 / x);
  if (f == "selu") return {b * elu(x, a), x < 0 ? 2 * a * b : b * x};
  if (f == "sigmoid") return alone(sigmoid);
  if (f == "silu") return alone(x * sigmoid);
  if (f == "softplus") return alone(softplus);
  if (f == "softsign") return alone(x / (1 + std::fabs(x)));
  if (f == "sqrt") return alone(std::sqrt(x));
  if (f == "tanh") return alone(std::tanh(x));
  if (f == "thresholded_relu") return alone(x <= a ? 0 : x);
  throw std::logic_error(concat("the reference has no function ", f));
}

}  // namespace

Result activation(const Shape& input, const float* x, const std::string& function, double a, double b) {
  Result result = empty_result(input.dims());
  for (int64_t i = 0; i < input.num_elements(); ++i) {
    const Term term = activated(function, x[i], a, b);
    append(result, term.value, term.magnitude + kOfSmallest);
  }
  return result;
}

namespace {

Term paired(const std::string& f, double a, double b) {
  const double sum = std::fabs(a) + std::fabs(b);
  const auto alone = [](double value) { return Term{value, std::fabs(value)}; };
  if (f == "add") return {a + b, sum};
  if (f == "sub") return {a - b, sum};
  if (f == "mul") return alone(a * b);
  if (f == "div") return alone(a / b);
  if (f == "max") return alone(a > b || std::isnan(a) ? a : b);
  if (f == "min") return alone(a < b || std::isnan(a) ? a : b);
  if (f == "pow") return {std::pow(a, b), std::pow(a, b) * (1 + std::fabs(b * std::log(a)))};
  if (f == "prelu") return alone(a < 0 ? a * b : a);
  throw std::logic_error(concat("the reference has no function ", f));
}

// The value of an operand with leading dimensions of 1 left out and sizes of 1 repeated.
double repeated_at(const Operand& x, const Sizes& index) {
  Sizes own;
  for (int i = 0; i < x.shape.rank(); ++i) {
    const size_t from = index.size() - static_cast<size_t>(x.shape.rank() - i);
    own.push_back(x.shape[i] == 1 ? 0 : index[from]);
  }
  return x.values[place_of(x.shape, own)];
}

}  // namespace

Result pairwise(const Operand& a, const Operand& b, const std::string& function) {
  Sizes dims(static_cast<size_t>(std::max(a.shape.rank(), b.shape.rank())), 1);
  for (const Shape* shape : {&a.shape, &b.shape}) {
    for (int i = 1; i <= shape->rank(); ++i) {
      int64_t& dim = dims[dims.size() - static_cast<size_t>(i)];
      dim = std::max(dim, (*shape)[-i]);
    }
  }
  Result result = empty_result(dims);
  for_each_index(dims, [&](const Sizes& index) {
    const Term term = paired(function, repeated_at(a, index), repeated_at(b, index));
    append(result, term.value, term.magnitude);
  });
  return result;
}

Result lrn(const Shape& input, const float* x, int64_t size, double alpha, double beta, double bias) {
  Result result = empty_result(input.dims());
  for_each_index(input.dims(), [&](Sizes index) {
    const double value = x[place_of(input, index)];
    const int64_t channel = index[1];
    double sum = 0;
    for (int64_t k = 0; k < size; ++k) {
      index[1] = channel - (size - 1) / 2 + k;  // the window begins before the channel
      if (index[1] < 0 || index[1] >= input[1]) continue;
      const double square = x[place_of(input, index)];
      sum += square * square;
    }
    const double y = value / std::pow(bias + alpha / static_cast<double>(size) * sum, beta);
    append(result, y, std::fabs(y));
  });
  return result;
}

Result transpose(const Operand& x, const std::vector<int>& order) {
  Sizes dims;
  for (const int from : order) dims.push_back(x.shape[from]);
  Result result = empty_result(dims);
  for_each_index(dims, [&](const Sizes& index) {
    Sizes from(index.size());
    for (size_t i = 0; i < order.size(); ++i) from[static_cast<size_t>(order[i])] = index[i];
    const double value = x.values[place_of(x.shape, from)];
    append(result, value, std::fabs(value));
  });
  return result;
}

Result pad(const Operand& x, const Sizes& before, const Sizes& after, double value) {
  Sizes dims = x.shape.dims();
  for (size_t i = 0; i < dims.size(); ++i) dims[i] += before[i] + after[i];
  Result result = empty_result(dims);
  for_each_index(dims, [&](Sizes index) {
    bool inside = true;
    for (size_t i = 0; i < index.size(); ++i) {
      index[i] -= before[i];
      inside = inside && index[i] >= 0 && index[i] < x.shape[static_cast<int>(i)];
    }
    const double found = inside ? x.values[place_of(x.shape, index)] : value;
    append(result, found, std::fabs(found));
  });
  return result;
}

Result slice(const Operand& x, const Sizes& starts, const Sizes& steps, const Sizes& dims) {
  Result result = empty_result(dims);
  for_each_index(dims, [&](Sizes index) {
    for (size_t i = 0; i < index.size(); ++i) index[i] = starts[i] + index[i] * steps[i];
    const double value = x.values[place_of(x.shape, index)];
    append(result, value, std::fabs(value));
  });
  return result;
}

Result join(const std::vector<Operand>& parts, int axis) {
  Sizes dims = parts.at(0).shape.dims();
  for (size_t k = 1; k < parts.size(); ++k) dims[static_cast<size_t>(axis)] += parts[k].shape[axis];
  Result result = empty_result(dims);
  for_each_index(dims, [&](Sizes index) {
    int64_t& along = index[static_cast<size_t>(axis)];
    size_t part = 0;
    while (along >= parts[part].shape[axis]) along -= parts[part++].shape[axis];
    const double value = parts[part].values[place_of(parts[part].shape, index)];
    append(result, value, std::fabs(value));
  });
  return result;
}

}  // namespace lenslet::reference
