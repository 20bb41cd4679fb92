// The element types of the tensors between layers: fp16 where every layer that reads one rounds it to fp16 anyway.
#include <gtest/gtest.h>

#include <functional>

#include "framework/execution/executable.h"
#include "framework/tensor/stored_floats.h"
#include "tests/framework/toy_layers.h"
#include "tests/support/expect_error.h"
#include "tests/support/host_values.h"

namespace lenslet {
namespace {

constexpr ElementType kFp32 = ElementType::kFp32, kFp16 = ElementType::kFp16;

/// y = factor * x, in math fp16 of rounded x. Backends: "any" reads and writes fp32 and fp16, "reads" writes fp32 only,
/// "writes" reads fp32 only, "fp32" does both. fp16 suits several samples.
class ProductLayer : public Layer {
 public:
  explicit ProductLayer(float factor) : factor_(factor) {}
  std::string_view type() const override { return "product"; }
  std::string describe() const override { return "product"; }
  bool uses_math() const override { return true; }
  Shape infer_shape(const std::vector<Shape>& inputs) const override { return inputs.at(0); }
  Work work(const std::vector<Shape>& inputs) const override {
    const double count = static_cast<double>(inputs[0].num_elements());
    return {count, 8 * count};
  }
  std::vector<const BackendEntry*> backend_entries(DeviceKind) const override {
    static const BackendEntry any = toys::toy_entry("any"), reads = toys::toy_entry("reads"),
                              writes = toys::toy_entry("writes"), fp32 = toys::toy_entry("fp32");
    return {&any, &reads, &writes, &fp32};
  }

 private:
  Support do_supports(const BackendEntry& backend, const OperatorRequest& request) const override {
    const bool reads = backend.name() == "any" || backend.name() == "reads",
               writes = backend.name() == "any" || backend.name() == "writes";
    if (!request.fused.empty()) return Support::no("fuses nothing");
    const bool taken = (reads || request.input_type == kFp32) && (writes || request.output_type == kFp32);
    return taken ? Support::yes() : refuse_ends(request.input_type, request.output_type);
  }
  bool do_suits(const BackendEntry&, const OperatorRequest& request) const override {
    return (request.input_type == kFp32 && request.output_type == kFp32) || request.batch() > 1;
  }
  bool stores_fp16() const override { return true; }
  std::unique_ptr<Operator> make_operator(const BackendEntry&, const OperatorRequest& request,
                                          Stream&) const override {
    return std::make_unique<Op>(factor_, request);
  }
  class Op : public Operator {
   public:
    Op(float factor, const OperatorRequest& request) : factor_(factor), request_(request) {}
    void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext&) override {
      EXPECT_EQ(inputs[0].type.name(), request_.input_type.name());
      EXPECT_EQ(output.type.name(), request_.output_type.name());
      std::vector<float> values(static_cast<size_t>(output.shape.num_elements()));
      const auto count = static_cast<int64_t>(values.size());
      load_floats(inputs[0].type, inputs[0].data, count, values.data());
      if (request_.math == MathMode::kFp16) round_to(kFp16, values);
      for (float& value : values) value *= factor_;
      store_floats(output.type, values.data(), count, output.data);
    }

   private:
    float factor_;
    OperatorRequest request_;
  };
  float factor_;
};

/// x -> a -> b -> c: the factors are not exact in fp16.
Graph chain() {
  Graph graph("chain", "x", {5});
  graph.add("a", std::make_unique<ProductLayer>(1.1f), {"x"});
  graph.add("b", std::make_unique<ProductLayer>(0.3f), {"a"});
  graph.add("c", std::make_unique<ProductLayer>(-2.7f), {"b"});
  return graph;
}

BuildOptions in_fp16(const std::string& backends = "auto") {
  BuildOptions options;
  options.batch = 3;
  options.math = MathMode::kFp16;
  options.backends = BackendSpec::parse(backends);
  return options;
}

std::vector<float> outputs_of(Executable& executable) {
  const TensorView input = executable.input();
  for (int64_t i = 0; i < input.shape.num_elements(); ++i) input.data[i] = 0.37f * static_cast<float>(i - 7);
  executable.run();
  return host_values(executable.output(), executable.stream());
}

/// "16 32 32": of the output of each step.
std::string bits_of(const Executable& executable) {
  std::string text;
  for (const Executable::Step& step : executable.steps())
    text += concat(text.empty() ? "" : " ", step.output.type.bits());
  return text;
}
std::string bits_of(const Graph& graph, const BuildOptions& options) {
  return bits_of(Executable(graph, options));
}

TEST(TensorTypes, AreFp16WhereEveryReaderRoundsToIt) {
  const Graph graph = chain();
  Executable executable(graph, in_fp16());
  EXPECT_EQ(bits_of(executable), "16 16 32") << "the output of the network stays fp32";
  EXPECT_EQ(executable.input().type.name(), kFp32.name());
  EXPECT_EQ(executable.output().type.name(), kFp32.name());
  EXPECT_EQ(executable.steps()[1].inputs[0].type.name(), kFp16.name());
  const auto bytes = [&](size_t step) { return executable.steps()[step].work.bytes; };
  EXPECT_EQ(bytes(0), 15.0 * (4 + 2));
  EXPECT_EQ(bytes(1), 15.0 * (2 + 2));
  EXPECT_EQ(bytes(2), 15.0 * (2 + 4));
  EXPECT_EQ(bits_of(graph, BuildOptions()), "32 32 32") << "math fp32 rounds nothing";
  BuildOptions tf32 = in_fp16();
  tf32.math = MathMode::kTf32;
  EXPECT_EQ(bits_of(graph, tf32), "32 32 32");
}

TEST(TensorTypes, AreFp32WhereABackendRefuses) {
  const Graph graph = chain();
  EXPECT_EQ(bits_of(graph, in_fp16("b=reads")), "16 32 32");
  EXPECT_EQ(bits_of(graph, in_fp16("b=writes")), "32 16 32");
  EXPECT_EQ(bits_of(graph, in_fp16("b=fp32")), "32 32 32");
  EXPECT_EQ(bits_of(graph, in_fp16("a=writes,c=reads")), "16 16 32");
}

TEST(TensorTypes, AreFp32WhereThatSuitsBetterUnlessAPlanStoresFp16) {
  const Graph graph = chain();
  BuildOptions options = in_fp16();
  options.batch = 1;
  EXPECT_EQ(bits_of(graph, options), "32 32 32");
  const Plan plan = Executable(graph, in_fp16()).plan();
  options.plan = &plan;
  EXPECT_EQ(bits_of(graph, options), "16 16 32");
}

TEST(TensorTypes, AreFp32ForAReaderThatDoesNotRound) {
  Graph forked("forked", "x", {5});
  forked.add("a", std::make_unique<ProductLayer>(1.1f), {"x"});
  forked.add("b", std::make_unique<ProductLayer>(0.3f), {"a"});
  forked.add("c", std::make_unique<ProductLayer>(0.7f), {"a"});
  forked.add("d", std::make_unique<ProductLayer>(0.7f), {"b"});
  EXPECT_EQ(bits_of(forked, in_fp16()).substr(0, 5), "16 16") << "two readers, which both round";
  EXPECT_EQ(bits_of(forked, in_fp16("c=writes")).substr(0, 5), "32 16") << "one of two cannot read it";
  Graph rectified("rectified", "x", {5});
  rectified.add("a", std::make_unique<ProductLayer>(1.1f), {"x"});
  rectified.add("relu", std::make_unique<toys::ToyRelu>(), {"a"});
  rectified.add("b", std::make_unique<ProductLayer>(0.3f), {"relu"});
  EXPECT_EQ(bits_of(rectified, in_fp16()), "32 32 32") << "it reads fp32, and its backend writes fp32";
}

TEST(TensorTypes, GiveTheBitsOfFp32) {
  const Graph graph = chain();
  Executable half(graph, in_fp16()), full(graph, in_fp16("b=fp32"));
  ASSERT_NE(bits_of(half), bits_of(full));
  const std::vector<float> outputs = outputs_of(half);
  EXPECT_TRUE(same_bits(outputs, outputs_of(full)));
  EXPECT_NE(outputs[0], 0);
}

TEST(TensorTypes, OfKeptActivationsAreFp32) {
  const Graph graph = chain();
  BuildOptions options = in_fp16();
  options.keep_activations = true;
  Executable kept(graph, options), half(graph, in_fp16());
  EXPECT_EQ(bits_of(kept), "32 32 32");
  EXPECT_TRUE(same_bits(outputs_of(kept), outputs_of(half)));
  EXPECT_EQ(kept.activation("a").type.name(), kFp32.name());
}

// A plan of the day before tensors could be fp16 states no types, and runs as it did. One that leaves them open, as
// tune makes it, gets them.
TEST(TensorTypes, AreReplayedFromAPlan) {
  const Graph graph = chain();
  const std::string json = Executable(graph, in_fp16()).plan().to_json();
  const Plan plan = Plan::from_json(json, "plan.json");
  EXPECT_EQ(plan.find("a")->output->name(), kFp16.name());
  BuildOptions options;
  options.batch = 3;
  options.plan = &plan;
  const Executable replayed(graph, options);
  EXPECT_EQ(bits_of(replayed), "16 16 32");
  EXPECT_EQ(replayed.plan().to_json(), json);

  const auto changed = [&](const std::function<void(Plan&)>& change) {
    Plan other = plan;
    change(other);
    options.plan = &other;
    return bits_of(graph, options);
  };
  EXPECT_EQ(changed([](Plan& other) { other.layers[0].output = kFp32; }), "32 16 32");
  EXPECT_EQ(changed([](Plan& other) {
              for (PlanLayer& layer : other.layers) layer.output.reset();
            }),
            "16 16 32");
  const Plan old = Plan::from_json(Executable(graph, in_fp16("b=fp32")).plan().to_json(), "plan.json");
  EXPECT_EQ(old.to_json().find("\"output\": \"fp16\""), std::string::npos);
  options.plan = &old;
  EXPECT_EQ(bits_of(graph, options), "32 32 32");

  expect_error<DataError>(
      [&] { changed([](Plan& other) { other.layers[1].backend = "fp32"; }); },
      "plan.json: the plan stores the output of a as fp16, which is unsupported: b: reads "
      "and writes fp32, not fp16 in and fp32 out: leave them fp32");
  expect_error<DataError>([&] { changed([](Plan& other) { other.layers[2].output = kFp16; }); },
                          "it is the output of the network");
  std::string wrong = json;
  wrong.replace(wrong.find("\"output\": \"fp16\""), 16, "\"output\": \"bf16\"");
  expect_error<DataError>([&] { Plan::from_json(wrong, "plan.json"); },
                          "\"output\" of layer 0 must be \"fp32\" or \"fp16\", found \"bf16\"");
}

// Layers that compute in place of values, such as ReLU, refuse it with a reason.
TEST(TensorTypes, AreRefusedByOtherLayers) {
  const toys::ToyRelu relu;
  const OperatorRequest request = request_for(relu, {{3, 5}}, Device::cpu(), MathMode::kFp32, kFp16, kFp32);
  EXPECT_EQ(relu.supports("plain", request).reason(),
            "reads and writes fp32, not fp16 in and fp32 out; use the whole-network plan");
}

}  // namespace
}  // namespace lenslet
