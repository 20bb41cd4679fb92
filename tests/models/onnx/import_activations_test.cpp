// Activations of ONNX files against the judge.
#include <gtest/gtest.h>

#include "tests/models/onnx/import_fixture.h"

namespace lenslet::test::onnx {
namespace {

TEST(OnnxImport, RunsActivations) {
  for (const char* op : {"Abs",       "Ceil",           "Celu",    "Elu",         "Erf",
                         "Exp",       "Floor",          "Gelu",    "HardSigmoid", "HardSwish",
                         "LeakyRelu", "LogSoftmax",     "Mish",    "Neg",         "Relu",
                         "Selu",      "Sigmoid",        "Softmax", "Softplus",    "Softsign",
                         "Tanh",      "ThresholdedRelu"}) {
    SCOPED_TRACE(op);
    Writer w({3, 4});
    w.add(op);
    if (std::string(op) != "ThresholdedRelu") expect_as_judged(w.model(20));  // no input exceeds its 1
  }
  const std::vector<std::pair<const char*, std::vector<const char*>>> parameters = {
      {"Celu", {"alpha"}},      {"Elu", {"alpha"}},           {"HardSigmoid", {"alpha", "beta"}},
      {"LeakyRelu", {"alpha"}}, {"Selu", {"alpha", "gamma"}}, {"ThresholdedRelu", {"alpha"}}};
  for (const auto& [op, names] : parameters) {
    SCOPED_TRACE(op);
    std::vector<Message> attributes;
    for (const char* name : names)
      attributes.push_back(real_attribute(name, names.size() == 1 ? 0.7f : 0.3f));
    Writer stated({3, 4});
    stated.add(op, {}, attributes);
    expect_as_judged(stated.model(20));
  }
  for (const char* op : {"Log", "Reciprocal", "Sqrt"}) {
    SCOPED_TRACE(op);
    Writer w({3, 4});
    w.add("Exp");
    w.add(op);
    expect_as_judged(w.model());
  }
  Writer tanh({3, 4});
  tanh.add("Gelu", {}, {text_attribute("approximate", "tanh")});
  expect_as_judged(tanh.model(20));
  for (const bool logarithms : {false, true}) {
    Writer inner({3, 4, 5});
    inner.add(logarithms ? "LogSoftmax" : "Softmax", {}, {attribute("axis", 2)});
    expect_as_judged(inner.model());
  }
}

// e^x - 1 has as many digits as x, however small x is.
TEST(OnnxImport, ComputesExponentialUnitsNearZero) {
  for (const char* op : {"Elu", "Celu", "Selu"}) {
    for (const float scale : {1e-4f, 0.4f}) {
      SCOPED_TRACE(testing::Message() << op << " of up to " << scale);
      Writer w({200});
      w.add("Mul", {w.weights({}, 0, scale)});
      w.add(op);
      w.add("Div", {w.weights({}, 0, scale)});
      expect_as_judged(w.model());
    }
  }
}

TEST(OnnxImport, ClipsAsEachOperatorSetStates) {
  Writer old({7});
  old.add("Clip", {}, {real_attribute("min", -0.25f), real_attribute("max", 0.5f)});
  expect_as_judged(old.model(7));
  Writer low({7});
  low.add("Clip", {low.weights({}, 0, -0.25f)});
  expect_as_judged(low.model());
  Writer high({7});
  high.add("Clip", {"", high.weights({}, 0, 0.5f)});
  expect_as_judged(high.model());
  Writer computed({7});
  computed.add("Clip", {"x"});
  expect_refused(computed, "input 1 that is not constant");
}

TEST(OnnxImport, ComputesSwishAsOneFunction) {
  for (const char* op : {"Sigmoid", "HardSigmoid"}) {
    SCOPED_TRACE(op);
    Writer w({7});
    const std::string gate = w.add(op);
    w.join("Mul", {"x", gate});
    const lenslet::onnx::Model model = w.model();
    expect_as_judged(model);
    EXPECT_EQ(import(model).graph->nodes().size(), 2u);
  }
}

// Another value's gate is not Swish: the Mul stays a layer of its own.
TEST(OnnxImport, ComputesSwishOfItsOwnInputOnly) {
  Writer w({7});
  w.add("Tanh");
  const std::string gate = w.add("Sigmoid");
  w.join("Mul", {gate, w.weights({1, 7})});
  EXPECT_EQ(import(w.model()).node_results[1].layer, "activation");
  EXPECT_NE(import(w.model()).node_results[2].layer, lenslet::onnx::kFolded);
}

}  // namespace
}  // namespace lenslet::test::onnx
