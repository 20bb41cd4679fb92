// Operators that one function of layers/activation computes.
#include <algorithm>
#include <cfloat>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "layers/activation/activation_layer.h"
#include "models/onnx/import/importer.h"

namespace lenslet::onnx {
namespace {

struct Defaults {
  const char* op;
  Activation function;
  float alpha, beta;   // where the node has no such attribute
  const char* second;  // the attribute of the second parameter
};

// As the ONNX operators define them.
constexpr Defaults kDefaults[] = {
    {"Abs", Activation::kAbs, 0, 0, nullptr},
    {"Ceil", Activation::kCeil, 0, 0, nullptr},
    {"Celu", Activation::kCelu, 1, 0, nullptr},
    {"Elu", Activation::kElu, 1, 0, nullptr},
    {"Erf", Activation::kErf, 0, 0, nullptr},
    {"Exp", Activation::kExp, 0, 0, nullptr},
    {"Floor", Activation::kFloor, 0, 0, nullptr},
    {"HardSwish", Activation::kHardSwish, 1.0f / 6, 0.5f, nullptr},
    {"LeakyRelu", Activation::kLeakyRelu, 0.01f, 0, nullptr},
    {"Log", Activation::kLog, 0, 0, nullptr},
    {"Mish", Activation::kMish, 0, 0, nullptr},
    {"Neg", Activation::kNeg, 0, 0, nullptr},
    {"Reciprocal", Activation::kReciprocal, 0, 0, nullptr},
    {"Selu", Activation::kSelu, 1.67326319f, 1.05070102f, "gamma"},
    {"Softplus", Activation::kSoftplus, 0, 0, nullptr},
    {"Softsign", Activation::kSoftsign, 0, 0, nullptr},
    {"Sqrt", Activation::kSqrt, 0, 0, nullptr},
    {"Swish", Activation::kSilu, 1, 0, nullptr},
    {"Tanh", Activation::kTanh, 0, 0, nullptr},
    {"ThresholdedRelu", Activation::kThresholdedRelu, 1, 0, nullptr},
};

}  // namespace

void Importer::activation(const Node& node) {
  for (const Defaults& row : kDefaults) {
    if (node.op != row.op) continue;
    const float alpha = row.alpha == 0 ? 0 : node.real_or("alpha", row.alpha);
    const float a = node.op == "HardSwish" ? row.alpha : alpha;
    const float b = row.second ? node.real_or(row.second, row.beta) : row.beta;
    if (node.op == "Celu" && !(a > 0))
      throw Unsupported{concat("alpha ", a, " is not supported, expected above 0")};
    if (node.op == "Swish" && a != 1) throw Unsupported{concat("alpha ", a, " is not supported, expected 1")};
    put(node, std::make_unique<ActivationLayer>(row.function, a, b), {data(node)});
    return;
  }
  throw Unsupported{concat("operator ", node.op, " is not supported")};
}

double Importer::number_or(const Node& node, size_t i, double fallback) {
  if (!has(node, i)) return fallback;
  if (!is_constant(node, i)) throw Unsupported{concat("input ", i, " that is not constant is not supported")};
  const std::vector<float> values = constants_.floats(node.inputs[i]);
  if (values.size() != 1)
    throw Unsupported{concat("input ", i, " has ", values.size(), " values, expected one")};
  return values[0];
}

// The limits became inputs in operator set 11.
void Importer::clip(const Node& node) {
  const float low = node.real_or("min", -FLT_MAX), high = node.real_or("max", FLT_MAX);
  put(node,
      std::make_unique<ActivationLayer>(Activation::kClip, static_cast<float>(number_or(node, 1, low)),
                                        static_cast<float>(number_or(node, 2, high))),
      {data(node)});
}

void Importer::gelu(const Node& node) {
  const std::string approximate = node.text_or("approximate", "none");
  if (approximate != "none" && approximate != "tanh")
    throw Unsupported{concat("the approximation '", printable_excerpt(approximate, 40),
                             "' is not supported, expected none or tanh")};
  const Activation function = approximate == "none" ? Activation::kGelu : Activation::kGeluTanh;
  put(node, std::make_unique<ActivationLayer>(function), {data(node)});
}

const Node* Importer::product_with_input(const Node& node) {
  const std::string& output = node.outputs.at(0);
  const auto readers = readers_.find(output);
  if (output == model_.outputs.at(0).name || readers == readers_.end() || readers->second.size() != 1)
    return nullptr;
  const Node& product = model_.nodes[readers->second[0]];
  if (product.op != "Mul" || product.inputs.size() != 2) return nullptr;
  const size_t other = product.inputs[0] == output ? 1 : 0;
  return product.inputs[1 - other] == output && product.inputs[other] == node.inputs.at(0) ? &product
                                                                                           : nullptr;
}

// x * sigmoid(x) and x * hard_sigmoid(x), as exporters write SiLU and HardSwish, are one function.
void Importer::sigmoid(const Node& node) {
  const bool hard = node.op == "HardSigmoid";
  const float a = hard ? node.real_or("alpha", 0.2f) : 0, b = hard ? node.real_or("beta", 0.5f) : 0;
  const Node* const product = product_with_input(node);
  const Activation alone = hard ? Activation::kHardSigmoid : Activation::kSigmoid;
  const Activation joined = hard ? Activation::kHardSwish : Activation::kSilu;
  put(node, std::make_unique<ActivationLayer>(product ? joined : alone, a, b), {data(node)});
  if (!product) return;
  import_.node_results[static_cast<size_t>(product - model_.nodes.data())].layer = kFolded;
  held_[product->outputs.at(0)] = held_[node.outputs[0]];
}

const Node* Importer::producer_of(const std::string& value) const {
  for (const Node& node : model_.nodes)
    if (std::find(node.outputs.begin(), node.outputs.end(), value) != node.outputs.end()) return &node;
  return nullptr;
}

bool Importer::is_softplus(const Node& choice) {
  // From here on log(1 + e^x) - x is below half a unit in the last place of x.
  constexpr float kMinThreshold = 16;
  if (choice.op != "Where" || choice.inputs.size() != 3) return false;
  const Node *const greater = producer_of(choice.inputs[0]), *const softplus = producer_of(choice.inputs[2]);
  if (!greater || greater->op != "Greater" || !is_constant(*greater, 1)) return false;
  if (!softplus || softplus->op != "Softplus") return false;
  const std::vector<float> threshold = constants_.floats(greater->inputs[1]);
  return threshold.size() == 1 && threshold[0] >= kMinThreshold && greater->inputs[0] == choice.inputs[1] &&
         softplus->inputs.at(0) == choice.inputs[1];
}

void Importer::comparison(const Node& node) {
  const std::vector<size_t>& readers = readers_[node.outputs.at(0)];
  if (readers.empty() || !std::all_of(readers.begin(), readers.end(),
                                      [&](size_t reader) { return is_softplus(model_.nodes[reader]); }))
    throw Unsupported{"Greater and Where are supported as PyTorch's softplus only"};
}

void Importer::choice(const Node& node) {
  if (!is_softplus(node)) throw Unsupported{"Greater and Where are supported as PyTorch's softplus only"};
  const auto softplus = held_.find(node.inputs[2]);
  if (softplus == held_.end()) throw Skip();
  // With a free batch, refuses a threshold of more dimensions, by which the batch is no longer the first.
  (void)shape(node.outputs.at(0));
  held_[node.outputs.at(0)] = softplus->second;
}

}  // namespace lenslet::onnx
