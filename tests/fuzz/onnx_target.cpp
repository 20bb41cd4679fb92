// ONNX. The second half of the input, as far as its first byte states, is the external file `d`.
#include <algorithm>
#include <cmath>

#include "models/lenet5.h"
#include "models/onnx/lenet5_weights.h"
#include "models/onnx/model_file.h"
#include "models/onnx/read/structure.h"
#include "models/onnx/read/tensor_values.h"
#include "models/onnx/summary.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/models/onnx/lenet5_graph.h"

using namespace lenslet;

LENSLET_FUZZ_TARGET(onnx) {
  Cursor input(data, size);
  const size_t external_bytes = input.byte();
  const Bytes all = input.rest();
  const size_t cut = all.size() - std::min(external_bytes, all.size());
  const auto external =
      std::make_shared<const MemoryBytes>(Bytes(all.begin() + static_cast<long>(cut), all.end()));
  onnx::Model model;
  const auto parse = [&] {
    model = onnx::parse_model({all.begin(), all.begin() + static_cast<long>(cut)}, "file",
                              [&](const std::string&) { return external; });
  };
  if (!accepts("file", parse)) return;
  check(!model.nodes.empty() && !model.inputs.empty() && !model.outputs.empty(), "the graph is whole");
  check(model.opset >= onnx::kFirstOpset && model.opset <= onnx::kLastOpset, "the operator set is known");
  for (const auto& [name, tensor] : model.initializers) {
    const auto count = static_cast<size_t>(tensor.count);
    check(count <= all.size(), "no more values than the file has bytes for");
    if (!onnx::is_floating(tensor.type)) {
      check(onnx::integer_values(tensor, "file").size() == count, "as many numbers as stated");
      continue;
    }
    const std::vector<float> values = onnx::float_values(tensor, "file");
    check(values.size() == count, "as many values as stated");
    for (const float value : values) check(std::isfinite(value), "values are finite");
  }
  accepts("file", [&] {
    const onnx::Values values = onnx::infer_values(model, "file");
    const onnx::Import import = onnx::import_model(model, values, "file", "file");
    check(import.node_results.size() == model.nodes.size(), "every node has its result");
    check((import.graph == nullptr) == !onnx::faults_of(import, model).empty(),
          "a graph, or why there is none");
    const onnx::Summary summary = onnx::summarise(model, values, import.node_results);
    check(summary.parameters >= 0, "the number of parameters is not negative");
    check(!summary.macs || *summary.macs >= 0, "the number of multiply-adds is not negative");
    const onnx::Lenet5Match match = onnx::match_lenet5(model, values, "file");
    if (match.difference.empty()) (void)make_lenet5(match.weights, "file");
  });
}

LENSLET_FUZZ_SEEDS(onnx) {
  using namespace test::onnx;
  const auto seed = [](const GraphParts& parts, int64_t opset = 13) {
    Bytes bytes = model_of(parts, opset).file();
    bytes.insert(bytes.begin(), 0);
    return bytes;
  };
  // One node that reads x and constants.
  const auto single = [&](const std::string& op, const std::vector<int64_t>& x,
                          const std::vector<Message>& constants, const std::vector<Message>& attributes = {},
                          int64_t opset = 13) {
    std::vector<std::string> inputs = {"x"};
    for (size_t i = 0; i < constants.size(); ++i)
      inputs.push_back(std::string(1, static_cast<char>('a' + i)));
    return seed({{node(op, inputs, "y", attributes)}, constants, {value("x", x)}, {value("y", {-1})}}, opset);
  };
  const std::vector<int64_t> image = {-1, 2, 6, 6};
  GraphParts chain{
      {node("Shape", {"x"}, "s"), node("Gather", {"s", "a"}, "n"), node("Unsqueeze", {"n", "a1"}, "n1"),
       node("Concat", {"n1", "b"}, "to", {attribute("axis", 0)}), node("Reshape", {"x", "to"}, "y")},
      {tensor("a", kInt64, {}).integers(7, {0}), int64s("a1", {0}), int64s("b", {-1})},
      {value("x", image)},
      {value("y", {-1, 72})}};
  GraphParts constant = small_graph();
  constant.initializers.clear();
  constant.nodes.insert(
      constant.nodes.begin(),
      node("Constant", {}, "b", {Message().text(1, "value").message(5, floats("", {2}, {1, 2}))}));
  GraphParts outside = small_graph();
  outside.initializers = {
      tensor("b", kFloat, {2}).integer(14, 1).message(13, Message().text(1, "location").text(2, "d"))};
  Bytes external = model_of(outside).file();
  external.insert(external.begin(), 8);
  external.insert(external.end(), 8, 0);
  GraphParts old = small_graph();
  old.inputs.push_back(value("b", {2}));
  // Values that stay in the file.
  GraphParts large = small_graph(), packed = small_graph();
  const std::vector<float> many(onnx::kMaxKept / sizeof(float) + 1, 0.5f);
  large.initializers = {floats("b", {1, static_cast<int64_t>(many.size())}, many)};
  packed.initializers = {tensor("b", kFloat, {1, static_cast<int64_t>(many.size())}).numbers<float>(4, many)};
  large.inputs = packed.inputs = {value("x", {-1, 1})};
  const Message half = tensor("b", kFloat16, {2}).integers(5, {0x3e00, 0xc000});
  GraphParts halves = small_graph();
  halves.initializers = {half};
  return {seed(small_graph()),
          seed(old, 7),
          seed(halves, 23),
          seed(large),
          seed(packed),
          seed(chain),
          seed(constant),
          external,
          single("Conv", image, {floats("a", {2, 1, 3, 3}, std::vector<float>(18)), floats("b", {2}, {0, 1})},
                 {attribute("group", 2), attribute("pads", {1, 1, 1, 1}), attribute("strides", {2, 2})}),
          single("Conv", image, {floats("a", {1, 2, 3, 3}, std::vector<float>(18))},
                 {Message().text(1, "auto_pad").text(4, "SAME_UPPER"), attribute("dilations", {2, 2})}),
          single("MaxPool", image, {}, {attribute("kernel_shape", {2, 2}), attribute("ceil_mode", 1)}),
          single("Gemm", {-1, 2}, {floats("a", {2, 2}, {1, 2, 3, 4})}, {attribute("transB", 1)}),
          single("MatMul", {-1, 2}, {floats("a", {2, 2}, {1, 2, 3, 4})}),
          single("MatMul", {-1, 3, 2}, {floats("a", {1, 2, 2}, {1, 2, 3, 4})}),
          single("Transpose", image, {}, {attribute("perm", {0, 2, 3, 1})}),
          single("Squeeze", {-1, 2, 1}, {int64s("a", {2})}),
          single("Squeeze", {-1, 2, 1}, {}, {attribute("axes", std::vector<int64_t>{2})}, 11),
          single("Slice", image, {int64s("a", {0}), int64s("b", {-1}), int64s("c", {3}), int64s("d", {2})}),
          single("Pad", image, {int64s("a", {0, 0, 1, 1, 0, 0, 1, 1})}),
          single("ReduceMean", image, {int64s("a", {2, 3})}, {attribute("keepdims", 0)}, 18),
          single("Flatten", image, {}, {attribute("axis", -1)}),
          single("Resize", image, {})};
}
