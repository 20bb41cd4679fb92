// Fusion of ReLU and max pooling into the layer before: what is fused, what is not, and plans with fusions.
#include <gtest/gtest.h>

#include "framework/execution/executable.h"
#include "tests/framework/toy_layers.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

using Names = std::vector<std::string>;

const float kInput[8] = {1, -2, 3, 4, 5, -6, 7, 8};  // a = -2x: 2 windows, of which one has no positive value
const float kExpected[2] = {36, 0};                  // 3 * relu(max(a))

void fill(Executable& executable) {
  const TensorView input = executable.input();
  for (int64_t i = 0; i < input.shape.num_elements(); ++i) input.data[i] = kInput[i % 8];
}

void expect_right(Executable& executable) {
  fill(executable);
  executable.run();
  const ConstTensorView output = executable.output();
  ASSERT_EQ(output.shape.num_elements(), 2 * executable.batch());
  for (int64_t i = 0; i < output.shape.num_elements(); ++i) ASSERT_EQ(output.data[i], kExpected[i % 2]) << i;
}

TEST(Fusion, TakesReluAndPoolingInEitherOrder) {
  for (const bool relu_first : {true, false}) {
    const Graph graph = toys::pooled_chain(relu_first);
    for (const bool keep : {false, true}) {
      BuildOptions options;
      options.batch = 3;
      options.keep_activations = keep;
      Executable executable(graph, options);
      ASSERT_EQ(executable.steps().size(), 2u);
      const Executable::Step& step = executable.steps()[0];
      EXPECT_EQ(step.fused, relu_first ? (Names{"relu", "pool"}) : (Names{"pool", "relu"}));
      EXPECT_EQ(step.output.shape, (Shape{3, 1, 1, 2}));
      // Reads what `a` reads and stores what the pooling stores; four values per window, one operation each.
      EXPECT_EQ(step.work.bytes, 4.0 * 3 * (8 + 2));
      EXPECT_EQ(step.work.flops, 3.0 * 8 + graph.node("pool").layer->work({{3, 1, 2, 4}}).flops);
      EXPECT_EQ(executable.plan().find("pool")->backend, "fused");
      EXPECT_EQ(executable.plan().find("pool")->fused_into, "a");
      EXPECT_EQ(executable.plan().find("relu")->fused_into, "a");
      expect_right(executable);
      if (!keep) continue;
      EXPECT_EQ(executable.activation(step.fused.back()).data[0], 12.0f);
      expect_error<UsageError>([&] { executable.activation("a"); }, "is not stored");
      expect_error<UsageError>([&] { executable.activation(step.fused[0]); }, "is not stored");
    }
  }
}

TEST(Fusion, LeavesApartWhatItMust) {
  const Graph graph = toys::pooled_chain(true);
  const auto steps = [&](const char* backends, bool fuse) {
    BuildOptions options;
    options.backends = BackendSpec::parse(backends);
    options.fuse = fuse;
    Executable executable(graph, options);
    expect_right(executable);
    return executable.steps().size();
  };
  EXPECT_EQ(steps("auto", true), 2u);
  EXPECT_EQ(steps("plain", true), 2u);
  EXPECT_EQ(steps("auto", false), 4u);
  EXPECT_EQ(steps("a=staged", true), 4u) << "this backend fuses nothing";
  EXPECT_EQ(steps("pool=plain", true), 3u) << "asked for by its own name";
  EXPECT_EQ(steps("relu=plain", true), 4u) << "what is after it reads its output, not that of a";
  EXPECT_EQ(steps("pool=auto", true), 2u);

  Graph wide("wide", "x", {1, 4, 4});
  wide.add("a", std::make_unique<toys::ScaleLayer>(2.0f), std::vector<std::string>{"x"});
  wide.add("pool", std::make_unique<toys::ToyPool>(4), std::vector<std::string>{"a"});
  EXPECT_EQ(Executable(wide, {}).steps().size(), 2u) << "a window that the backend does not pool";

  Graph forked("forked", "x", {1, 2, 4});
  forked.add("a", std::make_unique<toys::ScaleLayer>(-2.0f), std::vector<std::string>{"x"});
  forked.add("pool", std::make_unique<toys::ToyPool>(), std::vector<std::string>{"a"});
  forked.add("b", std::make_unique<toys::ScaleLayer>(1.0f), std::vector<std::string>{"a"});
  EXPECT_EQ(Executable(forked, {}).steps().size(), 3u) << "another layer reads the output of a";

  Graph twice("twice", "x", {1, 4, 4});
  twice.add("a", std::make_unique<toys::ScaleLayer>(2.0f), std::vector<std::string>{"x"});
  twice.add("pool", std::make_unique<toys::ToyPool>(), std::vector<std::string>{"a"});
  twice.add("again", std::make_unique<toys::ToyPool>(), std::vector<std::string>{"pool"});
  EXPECT_EQ(Executable(twice, {}).steps().size(), 2u) << "one pooling an operator";
}

TEST(Fusion, LeavesApartWhatDoesNotSuitUnlessAPlanFusesIt) {
  Graph graph("chain", "x", {1, 2, 4});
  graph.add("a", std::make_unique<toys::ScaleLayer>(1.0f), std::vector<std::string>{"x"});
  graph.add("pool", std::make_unique<toys::ToyPool>(), std::vector<std::string>{"a"});
  const Executable apart(graph, {});
  EXPECT_EQ(apart.steps().size(), 2u);
  Plan plan = apart.plan();
  plan.layers[1].backend = "fused";
  plan.layers[1].fused_into = "a";
  BuildOptions options;
  options.plan = &plan;
  Executable fused(graph, options);
  EXPECT_EQ(fused.steps().size(), 1u);
  fill(fused);
  fused.run();
  EXPECT_EQ(fused.output().data[0], 5.0f);
  EXPECT_EQ(fused.output().data[1], 8.0f);
}

TEST(Fusion, IsReplayedFromAPlan) {
  const Graph graph = toys::pooled_chain(true);
  const auto replay = [&](const Plan& plan) {
    const Plan read = Plan::from_json(plan.to_json(), "plan.json");
    BuildOptions options;
    options.plan = &read;
    auto executable = std::make_unique<Executable>(graph, options);
    EXPECT_EQ(executable->plan().to_json(), plan.to_json());
    expect_right(*executable);
    return executable->steps().size();
  };
  BuildOptions options;
  EXPECT_EQ(replay(Executable(graph, options).plan()), 2u);
  // A plan of an older version: layers that a plan keeps apart stay apart.
  options.backends = BackendSpec::parse("pool=plain");
  const Plan relu_alone = Executable(graph, options).plan();
  EXPECT_EQ(relu_alone.find("relu")->backend, "fused");
  EXPECT_EQ(relu_alone.find("pool")->backend, "plain");
  EXPECT_EQ(replay(relu_alone), 3u);
}

TEST(Fusion, RefusesAPlanThatFusesWhatCannotBe) {
  const auto expect_refused = [](const Graph& graph, const Plan& plan, const std::string& why) {
    BuildOptions options;
    options.plan = &plan;
    expect_error<DataError>([&] { Executable executable(graph, options); }, why);
  };
  const Graph graph = toys::pooled_chain(true);
  BuildOptions apart;
  apart.fuse = false;
  Plan plan = Executable(graph, apart).plan();
  plan.origin = "plan.json";
  const auto entry = [&](const char* name) -> PlanLayer& { return *const_cast<PlanLayer*>(plan.find(name)); };
  entry("pool").backend = "fused";
  entry("pool").fused_into = "a";
  expect_refused(graph, plan, "plan.json: the plan fuses pool into 'a'; a layer can only be fused into");
  expect_refused(graph, plan, "here relu");
  entry("pool").fused_into = "relu";
  expect_refused(graph, plan, "fuses pool into relu, which is unsupported: relu fuses nothing");
  entry("relu").backend = "fused";
  entry("relu").fused_into = "a";
  expect_refused(graph, plan, "here a");
  entry("pool").fused_into = "a";
  entry("a").backend = "staged";
  expect_refused(graph, plan, "fuses relu into a, which is unsupported: backend staged fuses nothing");
  entry("relu").backend = "plain";
  entry("relu").fused_into = "";
  entry("pool").backend = "plain";
  entry("pool").fused_into = "";
  entry("b").backend = "fused";
  entry("b").fused_into = "pool";
  expect_refused(graph, plan, "the plan fuses b into pool, which is unsupported: max_pool2d fuses nothing");

  const Graph forked = toys::diamond();
  Plan both = Executable(forked, {}).plan();
  both.origin = "plan.json";
  EXPECT_EQ(both.find("relu")->backend, "fused");
  Graph read_twice("diamond", "x", {5});
  read_twice.add("a", std::make_unique<toys::ScaleLayer>(-2.0f), std::vector<std::string>{"x"});
  read_twice.add("relu", std::make_unique<toys::ToyRelu>(), std::vector<std::string>{"a"});
  read_twice.add("b", std::make_unique<toys::ScaleLayer>(3.0f), std::vector<std::string>{"a"});
  read_twice.add("out", std::make_unique<toys::AddLayer>(), {"relu", "b"});
  expect_refused(read_twice, both, "the plan fuses relu into a, whose output other layers also read");

  Graph at_once("diamond", "x", {5});
  at_once.add("relu", std::make_unique<toys::ToyRelu>(), std::vector<std::string>{"x"});
  Plan into_input = Executable(at_once, {}).plan();
  into_input.origin = "plan.json";
  const_cast<PlanLayer*>(into_input.find("relu"))->backend = "fused";
  const_cast<PlanLayer*>(into_input.find("relu"))->fused_into = "x";
  expect_refused(at_once, into_input, "the plan fuses relu into 'x'");
}

}  // namespace
}  // namespace lenslet
