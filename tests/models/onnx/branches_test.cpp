// If nodes: the branch of a known condition takes the node's place, any other condition is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "framework/base/error.h"
#include "framework/execution/executable.h"
#include "tests/models/onnx/import_fixture.h"
#include "tests/support/expect_error.h"

namespace lenslet::test::onnx {
namespace {

Message graph_of(const GraphParts& parts) {
  Message graph;
  for (const Message& each : parts.nodes) graph.message(1, each);
  for (const Message& each : parts.initializers) graph.message(5, each);
  for (const Message& each : parts.inputs) graph.message(11, each);
  for (const Message& each : parts.outputs) graph.message(12, each);
  return graph;
}

Message branch(const std::string& name, const GraphParts& parts) {
  return Message().text(1, name).message(6, graph_of(parts)).integer(20, 5);
}

// 3 * x + 10 and -x; both have a value "t", which the graph around them has too.
GraphParts triple() {
  return {{node("Mul", {"x", "three"}, "t"), node("Add", {"t", "ten"}, "then_y")},
          {floats("three", {1}, {3}), floats("ten", {1}, {10})},
          {},
          {value("then_y", {-1, 2})}};
}
GraphParts negative() { return {{node("Neg", {"x"}, "t")}, {}, {}, {value("t", {-1, 2})}}; }

Message choice(const std::string& condition, const GraphParts& then_parts = triple(),
               const GraphParts& else_parts = negative()) {
  return node("If", {condition}, "z", {branch("then_branch", then_parts), branch("else_branch", else_parts)});
}

// x [N, 2] -> t = relu(x) -> z = the If's -> y = z + t.
GraphParts around(const std::vector<Message>& condition_nodes, const Message& chosen, int64_t batch = -1) {
  GraphParts parts;
  parts.inputs = {value("x", {batch, 2})};
  parts.initializers = {int64s("zero", {0}), int64s("one", {1}), int64s("two", {2})};
  parts.nodes = {node("Relu", {"x"}, "t")};
  parts.nodes.insert(parts.nodes.end(), condition_nodes.begin(), condition_nodes.end());
  parts.nodes.push_back(chosen);
  parts.nodes.push_back(node("Add", {"z", "t"}, "y"));
  parts.outputs = {value("y", {batch, 2})};
  return parts;
}

// For x = [2, -1].
std::vector<float> result_of(const GraphParts& parts) {
  const lenslet::onnx::Model model = parse(parts);
  const lenslet::onnx::Import imported = import(model);
  EXPECT_EQ(lenslet::onnx::faults_of(imported, model), "");
  if (!imported.graph) return {};
  BuildOptions build;
  build.device = Device::cpu();
  Executable executable(*imported.graph, build);
  executable.input().data[0] = 2;
  executable.input().data[1] = -1;
  executable.run();
  return {executable.output().data[0], executable.output().data[1]};
}

const std::vector<float> kThen = {2 * 3 + 10 + 2, -1 * 3 + 10 + 0}, kElse = {-2 + 2, 1 + 0};

std::string fault_of(const GraphParts& parts) {
  std::string faults;
  const std::string refusal = message_of<DataError>([&] {
    const lenslet::onnx::Model model = parse(parts);
    faults = lenslet::onnx::faults_of(import(model), model);
  });
  return faults + refusal;
}

TEST(OnnxBranches, AConstantConditionChooses) {
  EXPECT_EQ(result_of(around({}, choice("one"))), kThen);
  EXPECT_EQ(result_of(around({}, choice("two"))), kThen);
  EXPECT_EQ(result_of(around({}, choice("zero"))), kElse);
}

TEST(OnnxBranches, AConditionMayDependOnTheShape) {
  const std::vector<Message> columns = {node("Shape", {"t"}, "shape"),
                                        node("Gather", {"shape", "one"}, "columns")};
  const auto with = [&](const std::string& op, const std::vector<std::string>& inputs) {
    std::vector<Message> nodes = columns;
    nodes.push_back(node(op, inputs, "condition"));
    return result_of(around(nodes, choice("condition")));
  };
  for (const auto& [op, than_one, than_two, of_one] : {std::tuple("Equal", kElse, kThen, kElse),
                                                       {"Less", kElse, kElse, kThen},
                                                       {"LessOrEqual", kElse, kThen, kThen},
                                                       {"Greater", kThen, kElse, kElse},
                                                       {"GreaterOrEqual", kThen, kThen, kElse},
                                                       {"And", kThen, kThen, kThen},
                                                       {"Or", kThen, kThen, kThen}}) {
    SCOPED_TRACE(op);
    EXPECT_EQ(with(op, {"columns", "one"}), than_one);
    EXPECT_EQ(with(op, {"columns", "two"}), than_two);
    EXPECT_EQ(with(op, {"one", "columns"}), of_one);
  }
  EXPECT_EQ(with("And", {"columns", "zero"}), kElse);
  EXPECT_EQ(with("Or", {"columns", "zero"}), kThen);
  EXPECT_EQ(with("Or", {"zero", "zero"}), kElse);
  EXPECT_EQ(with("Not", {"columns"}), kElse);
  EXPECT_EQ(with("Not", {"zero"}), kThen);
}

TEST(OnnxBranches, CastToBoolIsATruth) {
  const Message cast = node("Cast", {"two"}, "truth", {attribute("to", 9)});
  const Message same = node("Equal", {"truth", "one"}, "condition");
  EXPECT_EQ(result_of(around({cast, same}, choice("condition"))), kThen);
}

TEST(OnnxBranches, InsideEachOther) {
  GraphParts inner;
  inner.initializers = {int64s("never", {0})};
  inner.nodes = {node("Mul", {"x", "x"}, "t"), choice("never"), node("Mul", {"z", "t"}, "w")};
  inner.outputs = {value("w", {-1, 2})};
  // z = -x, so w = -x * x * x.
  EXPECT_EQ(result_of(around({}, choice("one", inner))), (std::vector<float>{-8 + 2, 1 + 0}));
}

TEST(OnnxBranches, OutputsMayLieOutside) {
  const GraphParts outer{{}, {}, {}, {value("t", {-1, 2})}};
  EXPECT_EQ(result_of(around({}, choice("one", outer))), (std::vector<float>{4, 0}));
  const GraphParts constant{{}, {floats("five", {2}, {5, 6})}, {}, {value("five", {2})}};
  EXPECT_EQ(result_of(around({}, choice("one", constant))), (std::vector<float>{7, 6}));
}

TEST(OnnxBranches, OneValueMayBeTwoOutputs) {
  GraphParts twice = negative();
  twice.outputs = {value("t", {-1, 2}), value("t", {-1, 2})};
  GraphParts parts = around({}, choice("zero", triple(), twice).text(2, "z2"));
  parts.nodes.back() = node("Sub", {"z", "z2"}, "y");
  EXPECT_EQ(result_of(parts), (std::vector<float>{0, 0}));
}

// A batch of 1 would take the branch, others would not: only a file with a fixed batch states which.
TEST(OnnxBranches, AConditionOnTheBatchIsRefused) {
  const std::vector<Message> one_sample = {node("Shape", {"t"}, "shape"),
                                           node("Gather", {"shape", "zero"}, "samples"),
                                           node("Equal", {"samples", "one"}, "condition")};
  EXPECT_EQ(fault_of(around(one_sample, choice("condition"))),
            "z_node: If is supported only where its condition does not depend on an input");
  EXPECT_EQ(result_of(around(one_sample, choice("condition"), 1)), kThen);
}

TEST(OnnxBranches, AConditionOnDataIsRefused) {
  EXPECT_EQ(fault_of(around({}, choice("t"))),
            "z_node: If is supported only where its condition does not depend on an input");
  EXPECT_EQ(fault_of(around({}, node("If", {"one"}, "z"))),
            "m.onnx: node \"z_node\" (If) lacks its then_branch");
}

TEST(OnnxBranches, RefusesBranchesThatDoNotFit) {
  GraphParts two = triple();
  two.outputs.push_back(value("t", {-1, 2}));
  EXPECT_NE(fault_of(around({}, choice("one", two))).find("its branch has 2 outputs, expected 1"),
            std::string::npos);
  GraphParts fed = triple();
  fed.inputs = {value("u", {1})};
  EXPECT_NE(fault_of(around({}, choice("one", fed))).find("its branch has inputs"), std::string::npos);
  GraphParts twice = triple();
  twice.nodes.push_back(node("Neg", {"x"}, "t"));
  EXPECT_NE(fault_of(around({}, choice("one", twice))).find("its branch produces \"t\" twice"),
            std::string::npos);
  GraphParts unknown = triple();
  unknown.nodes[0] = node("Mul", {"nothing", "three"}, "t");
  EXPECT_NE(fault_of(around({}, choice("one", unknown))).find("reads \"nothing\", which nothing before it"),
            std::string::npos);
  GraphParts later = triple();
  std::swap(later.nodes[0], later.nodes[1]);
  EXPECT_NE(fault_of(around({}, choice("one", later))).find("which nothing before it in its branch"),
            std::string::npos);
  GraphParts foreign = triple();
  foreign.nodes[0].text(7, "com.example");
  EXPECT_NE(fault_of(around({}, choice("one", foreign))).find("outside the ONNX operator set"),
            std::string::npos);
  EXPECT_EQ(result_of(around({}, choice("zero", foreign))), kElse);  // a branch that is not taken is not read
  GraphParts wrong = triple();
  wrong.initializers[0] = floats("three", {2, 2}, {3});
  EXPECT_NE(fault_of(around({}, choice("one", wrong))).find("\"three\""), std::string::npos);
  GraphParts many = triple();
  many.nodes.insert(many.nodes.begin(), 19998, node("Relu", {"x"}, ""));
  EXPECT_NE(fault_of(around({}, choice("one", many))).find("above 20000 nodes"), std::string::npos);
}

TEST(OnnxBranches, DeepNestingIsQuick) {
  const auto start = std::chrono::steady_clock::now();
  GraphParts deep = negative();
  for (int i = 0; i < 1000; ++i) {
    GraphParts next;
    next.nodes = {choice("one", deep, {})};
    next.outputs = {value("z", {-1, 2})};
    deep = next;
  }
  EXPECT_EQ(result_of(around({}, choice("one", deep))), kElse);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 10);
}

}  // namespace
}  // namespace lenslet::test::onnx
