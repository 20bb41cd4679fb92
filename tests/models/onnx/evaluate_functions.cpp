#include "tests/models/onnx/evaluate_functions.h"

#include <algorithm>
#include <cmath>

namespace lenslet::test::onnx {

std::function<double(double)> function_of(const lenslet::onnx::Node& node) {
  const std::string& op = node.op;
  if (op == "Abs") return [](double x) { return std::fabs(x); };
  if (op == "Ceil") return [](double x) { return std::ceil(x); };
  if (op == "Erf") return [](double x) { return std::erf(x); };
  if (op == "Exp") return [](double x) { return std::exp(x); };
  if (op == "Floor") return [](double x) { return std::floor(x); };
  if (op == "Log") return [](double x) { return std::log(x); };
  if (op == "Neg") return [](double x) { return -x; };
  if (op == "Reciprocal") return [](double x) { return 1 / x; };
  if (op == "Softplus") return [](double x) { return std::log(1 + std::exp(x)); };
  if (op == "Softsign") return [](double x) { return x / (1 + std::fabs(x)); };
  if (op == "Mish") return [](double x) { return x * std::tanh(std::log(1 + std::exp(x))); };
  if (op == "Celu") {
    const double alpha = node.real_or("alpha", 1);
    return [=](double x) { return std::max(x, 0.0) + std::min(0.0, alpha * (std::exp(x / alpha) - 1)); };
  }
  if (op == "Gelu") {
    const bool tanh = node.text_or("approximate", "none") == "tanh";
    return [=](double x) {
      const double inner = std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
      return x / 2 * (1 + (tanh ? std::tanh(inner) : std::erf(x / std::sqrt(2.0))));
    };
  }
  if (op == "Selu") {
    const double alpha = node.real_or("alpha", 1.67326319217681884765625f),
                 gamma = node.real_or("gamma", 1.05070102214813232421875f);
    return [=](double x) { return gamma * (x > 0 ? x : alpha * std::exp(x) - alpha); };
  }
  if (op == "ThresholdedRelu") {
    const double alpha = node.real_or("alpha", 1);
    return [=](double x) { return x > alpha ? x : 0; };
  }
  if (op == "Sqrt") return [](double x) { return std::sqrt(x); };
  if (op == "Relu") return [](double x) { return std::max(x, 0.0); };
  if (op == "Sigmoid") return [](double x) { return 1 / (1 + std::exp(-x)); };
  if (op == "Tanh") return [](double x) { return std::tanh(x); };
  if (op == "HardSwish") return [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); };
  if (op == "LeakyRelu") {
    const double alpha = node.real_or("alpha", 0.01f);
    return [=](double x) { return x < 0 ? alpha * x : x; };
  }
  if (op == "Elu") {
    const double alpha = node.real_or("alpha", 1);
    return [=](double x) { return x < 0 ? alpha * (std::exp(x) - 1) : x; };
  }
  if (op == "HardSigmoid") {
    const double alpha = node.real_or("alpha", 0.2f), beta = node.real_or("beta", 0.5f);
    return [=](double x) { return std::clamp(alpha * x + beta, 0.0, 1.0); };
  }
  return nullptr;
}

}  // namespace lenslet::test::onnx
