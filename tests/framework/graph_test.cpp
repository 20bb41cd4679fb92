// Graph and Executable on the CPU, with layers whose results are known by hand.
#include "framework/graph/graph.h"

#include <gtest/gtest.h>

#include "framework/execution/executable.h"
#include "framework/execution/tuner.h"
#include "framework/measuring/row_status.h"
#include "tests/framework/toy_layers.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

const float kInput[5] = {-2, -1, 0, 1, 2};
const float kExpected[5] = {16, 8, 0, 0, 0};  // 4 * relu(-2x)

void fill(Executable& executable) {
  const TensorView input = executable.input();
  for (int64_t i = 0; i < input.shape.num_elements(); ++i) input.data[i] = kInput[i % 5];
}

void expect_right(const Executable& executable) {
  const ConstTensorView output = executable.output();
  for (int64_t i = 0; i < output.shape.num_elements(); ++i) ASSERT_EQ(output.data[i], kExpected[i % 5]) << i;
}

TEST(Graph, ChecksNamesAndShapes) {
  Graph graph = toys::diamond();
  expect_error<UsageError>([&] { graph.add("a", std::make_unique<toys::ToyRelu>(), {"x"}); },
                           "must be unique");
  expect_error<UsageError>([&] { graph.add("c", std::make_unique<toys::ToyRelu>(), {"y"}); },
                           "does not exist; there are: x, a, relu");
  expect_error<DataError>([&] { graph.add("c", std::make_unique<toys::AddLayer>(), {"x"}); },
                          "layer c: add needs two inputs");
  EXPECT_EQ(graph.nodes().size(), 5u) << "a refused node must not stay";
  expect_error<UsageError>([&] { graph.node("zzz"); }, "has no layer 'zzz'");
  expect_error<UsageError>([&] { graph.node(std::string("z\0z\n", 4)); },
                           "has no layer 'z\\x00z\\n'; there are: x, a, relu");
  EXPECT_EQ(graph.infer_shapes(3).back(), (Shape{3, 5}));
  EXPECT_EQ(graph.consumers(2), (std::vector<int>{3, 4}));
  expect_error<UsageError>([&] { graph.infer_shapes(0); }, "at least 1, found 0");
}

TEST(Executable, ComputesWithEveryCombinationOfOptions) {
  const Graph graph = toys::diamond();
  for (bool fuse : {false, true}) {
    for (bool keep : {false, true}) {
      for (const char* backend : {"auto", "plain", "staged", "a=staged,b=plain"}) {
        for (int64_t batch : {1, 3, 1000}) {
          BuildOptions options;
          options.batch = batch;
          options.fuse = fuse;
          options.keep_activations = keep;
          options.backends = BackendSpec::parse(backend);
          Executable executable(graph, options);
          fill(executable);
          for (int pass = 0; pass < 2; ++pass) {  // the input must survive a pass
            executable.run();
            expect_right(executable);
          }
        }
      }
    }
  }
}

TEST(Executable, FusesReluOnlyWhereTheBackendCan) {
  const Graph graph = toys::diamond();
  BuildOptions options;
  Executable fused(graph, options);
  EXPECT_EQ(fused.steps().size(), 3u);
  EXPECT_EQ(fused.steps()[0].fused, (std::vector<std::string>{"relu"}));
  EXPECT_EQ(fused.plan().find("relu")->backend, "fused");
  EXPECT_EQ(fused.plan().find("relu")->fused_into, "a");
  EXPECT_EQ(fused.plan().find("a")->backend, "plain") << "auto passes over a backend that refuses";
  options.backends = BackendSpec::parse("a=staged");
  Executable apart(graph, options);
  EXPECT_EQ(apart.steps().size(), 4u);
  EXPECT_EQ(apart.plan().workspace_bytes, 4096u);
}

TEST(Executable, RefusesWithTheBackendsReason) {
  const Graph graph = toys::diamond();
  BuildOptions options;
  options.backends = BackendSpec::parse("a=refusing");
  expect_error<UnavailableError>([&] { Executable executable(graph, options); },
                                 "layer a: backend refusing cannot compute it: it always refuses");
  options.backends = {};
  options.math = MathMode::kTf32;
  expect_error<UnavailableError>([&] { Executable executable(graph, options); },
                                 "no backend supports tf32 on cpu: refusing: it always refuses; each of "
                                 "plain, staged computes in fp32 only");
  options.math = MathMode::kFp32;
  options.cuda_graph = true;
  expect_error<UsageError>([&] { Executable executable(graph, options); },
                           "a CUDA graph needs a CUDA device");
  options.cuda_graph = false;
  options.backends = BackendSpec::parse("a=staged");
  options.workspace_limit = 4095;
  expect_error<MemoryError>([&] { Executable executable(graph, options); }, "needs 4096 bytes of workspace");
  options.backends = {};
  options.batch = int64_t{1} << 40;
  expect_error<MemoryError>([&] { Executable executable(graph, options); },
                            "the largest batch that fits is about");
}

/// "plain" supports fp32 alone, "staged" tf32 alone, and each suits as stated.
class TwoModes : public toys::ScaleLayer {
 public:
  TwoModes(bool fp32_suits, bool tf32_suits) : ScaleLayer(1), suits_{fp32_suits, tf32_suits} {}

 private:
  Support do_supports(const BackendEntry& backend, const OperatorRequest& request) const override {
    const MathMode supported = backend.name() == "staged" ? MathMode::kTf32 : MathMode::kFp32;
    if (backend.name() != "refusing" && request.math == supported) return Support::yes();
    return Support::no("another mode");
  }
  bool do_suits(const BackendEntry&, const OperatorRequest& request) const override {
    return suits_[request.math == MathMode::kTf32];
  }
  bool suits_[2];  // [tf32]
};

// The requested mode is the least exact that `auto` takes.
TEST(Executable, TakesAMoreExactModeOnlyWhereItSuitsAndTheRequestedDoesNot) {
  const auto chosen = [](bool fp32_suits, bool tf32_suits, MathMode math, const char* backend = "auto") {
    Graph graph("one", "x", {5});
    graph.add("a", std::make_unique<TwoModes>(fp32_suits, tf32_suits), {"x"});
    BuildOptions options;
    options.math = math;
    options.backends = BackendSpec::parse(concat("a=", backend));
    const Executable executable(graph, options);
    EXPECT_EQ(executable.steps()[0].math, executable.plan().find("a")->math);
    return concat(executable.steps()[0].backend, " ", to_string(executable.steps()[0].math));
  };
  EXPECT_EQ(chosen(true, true, MathMode::kTf32), "staged tf32");
  EXPECT_EQ(chosen(true, false, MathMode::kTf32), "plain fp32");
  EXPECT_EQ(chosen(false, false, MathMode::kTf32), "staged tf32");
  EXPECT_EQ(chosen(true, false, MathMode::kTf32, "staged"), "staged tf32") << "requested by name";
  EXPECT_EQ(chosen(false, true, MathMode::kFp32), "plain fp32") << "never a less exact mode";
  expect_error<UnavailableError>([&] { chosen(true, true, MathMode::kFp16); }, "no backend supports fp16");
}

TEST(Tuner, TriesMoreExactModesOnlyWhereTheRequestedIsSupported) {
  const auto tried = [](MathMode math, const char* backend = "auto") {
    Graph graph("one", "x", {5});
    graph.add("a", std::make_unique<TwoModes>(true, true), {"x"});
    BuildOptions options;
    options.math = math;
    options.backends = BackendSpec::parse(concat("a=", backend));
    std::string list;
    for (const TuneCandidate& candidate : tune_candidates(graph, options)) {
      const bool refused = candidate.status == row_status::kUnsupported;
      list += concat(candidate.backend, " ", refused ? "-" : to_string(candidate.request.math), "; ");
    }
    return list;
  };
  EXPECT_EQ(tried(MathMode::kTf32), "refusing -; plain fp32; staged tf32; ");
  EXPECT_EQ(tried(MathMode::kFp32), "refusing -; plain fp32; staged -; ");
  EXPECT_EQ(tried(MathMode::kFp16), "refusing -; plain -; staged -; ");
  EXPECT_EQ(tried(MathMode::kTf32, "plain"), "plain -; ");
}

TEST(Executable, RunsOnABorrowedStream) {
  const Graph graph = toys::diamond();
  Stream stream(Device::cpu());
  BuildOptions options;
  options.stream = &stream;
  Executable first(graph, options), second(graph, options);
  EXPECT_EQ(&first.stream(), &stream);
  EXPECT_EQ(&second.stream(), &stream);
}

TEST(Executable, ReplaysAPlanExactly) {
  const Graph graph = toys::diamond();
  BuildOptions options;
  options.batch = 2;
  options.backends = BackendSpec::parse("a=staged,b=plain");
  Executable first(graph, options);
  const Plan plan = Plan::from_json(first.plan().to_json(), "memory");
  BuildOptions replay;
  replay.batch = 2;
  replay.plan = &plan;
  Executable second(graph, replay);
  EXPECT_EQ(second.plan().to_json(), first.plan().to_json());
  fill(second);
  second.run();
  expect_right(second);

  Plan other = plan;
  EXPECT_EQ(plan.find("a")->choice, "quickest") << "what the backend chose belongs to the plan";
  other.layers[0].choice = "smallest";
  replay.plan = &other;
  EXPECT_EQ(Executable(graph, replay).plan().find("a")->choice, "smallest") << "and is not chosen again";
  other = plan;
  other.model = "someone";
  replay.plan = &other;
  const auto build = [&] { Executable executable(graph, replay); };
  expect_error<DataError>(build, "the plan is for model someone");
  other = plan;
  other.device = "cuda:0";
  expect_error<UnavailableError>(build, "the plan is for cuda:0");
  other = plan;
  other.layers.pop_back();
  expect_error<DataError>(build, "has no entry for layer out");
  other = plan;
  other.layers[1].backend = "fused";
  expect_error<DataError>(build, "memory: the plan fuses relu into ''");
  other.layers[1].fused_into = "a";
  expect_error<DataError>(build, "which is unsupported: backend staged fuses nothing");
  other = plan;
  other.layers[0].type = "conv2d";
  expect_error<DataError>(build, "layer a is conv2d in the plan, scale in the model");
  other = plan;
  other.layers.push_back({"conv9", "conv2d", "direct", MathMode::kFp32, "", ""});
  expect_error<DataError>(build, "names layer conv9, which diamond does not have");
}

TEST(Graph, NamesTheBatchThatItsLayersTake) {
  Graph graph("narrow", "x", {5});
  graph.add("limited", std::make_unique<toys::LimitedLayer>(1000), {"x"});
  expect_error<UsageError>([&] { graph.infer_shapes(5000); },
                           "the batch size must be 1 to 200 for narrow, found 5000");
  EXPECT_EQ(graph.infer_shapes(200).back(), (Shape{200, 5}));
  expect_error<UsageError>([&] { graph.infer_shapes(0); }, "at least 1, found 0");
  expect_error<DataError>([] { Graph("deep", "x", {1, 1, 1, 1, 1, 1, 1, 1}); }, "at most 7 dimensions");
}

TEST(Executable, RunsWithoutAllocating) {
  std::string allocated;
  const Graph graph = toys::diamond();
  for (const char* backend : {"plain", "staged"}) {
    BuildOptions options;
    options.batch = 300;
    options.backends = BackendSpec::parse(backend);
    Executable executable(graph, options);
    executable.run();
    const AllocationCounter seen;
    std::string(100, 'x').swap(allocated);  // checks that the counter counts
    EXPECT_GE(seen.allocations(), 1);
    const AllocationCounter counter;
    for (int pass = 0; pass < 10; ++pass) executable.run();
    EXPECT_EQ(counter.allocations(), 0) << backend;
  }
}

TEST(Executable, GivesActivationsOnlyWhereTheyExist) {
  const Graph graph = toys::diamond();
  BuildOptions options;
  options.keep_activations = true;
  Executable fused(graph, options);
  fill(fused);
  fused.run();
  EXPECT_EQ(fused.activation("relu").data[0], 4.0f);
  expect_error<UsageError>([&] { fused.activation("a"); }, "is not stored");
  options.fuse = false;
  Executable apart(graph, options);
  fill(apart);
  apart.run();
  EXPECT_EQ(apart.activation("a").data[4], -4.0f);
  options.keep_activations = false;
  Executable reusing(graph, options);
  expect_error<UsageError>([&] { reusing.activation("a"); }, "keep_activations");
}

}  // namespace
}  // namespace lenslet
