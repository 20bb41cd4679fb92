// The rule for each operator.
#include "models/onnx/import/importer.h"

namespace lenslet::onnx {

Importer::Rule Importer::rule_of(const std::string& op) {
  static const std::unordered_map<std::string, Rule> rules = [] {
    std::unordered_map<std::string, Rule> all = {
        {"Conv", &Importer::conv},
        {"MaxPool", &Importer::pool},
        {"AveragePool", &Importer::pool},
        {"GlobalAveragePool", &Importer::global_pool},
        {"GlobalMaxPool", &Importer::global_pool},
        {"ReduceMean", &Importer::reduce},
        {"ReduceMax", &Importer::reduce},
        {"Gemm", &Importer::gemm},
        {"MatMul", &Importer::matmul},
        {"BatchNormalization", &Importer::batch_normalisation},
        {"LRN", &Importer::lrn},
        {"Identity", &Importer::same_values},
        {"Dropout", &Importer::same_values},
        {"Flatten", &Importer::same_values},
        {"Reshape", &Importer::same_values},
        {"Squeeze", &Importer::same_values},
        {"Unsqueeze", &Importer::same_values},
        {"Transpose", &Importer::transpose},
        {"Pad", &Importer::pad},
        {"Cast", &Importer::cast},
        {"Relu", &Importer::relu},
        {"Softmax", &Importer::softmax},
        {"LogSoftmax", &Importer::softmax},
        {"Clip", &Importer::clip},
        {"Gelu", &Importer::gelu},
        {"Sigmoid", &Importer::sigmoid},
        {"HardSigmoid", &Importer::sigmoid},
        {"Greater", &Importer::comparison},
        {"Where", &Importer::choice},
    };
    for (const char* each : {"Add", "Sub", "Mul", "Div", "Pow", "PRelu", "Sum", "Mean", "Max", "Min"})
      all[each] = &Importer::pairwise;
    all["Concat"] = &Importer::concatenate;
    all["Slice"] = &Importer::slice;
    all["Split"] = &Importer::split;
    all["Gather"] = &Importer::gather;
    for (const char* each : kActivationOperators) all[each] = &Importer::activation;
    return all;
  }();
  const auto found = rules.find(op);
  return found == rules.end() ? nullptr : found->second;
}

}  // namespace lenslet::onnx
