// Layers simple enough to verify by hand, for tests of the graph machinery. CPU only.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "framework/graph/graph.h"
#include "framework/graph/layer.h"

namespace lenslet::toys {

/// A backend without code of its own: the layer itself computes.
inline BackendEntry toy_entry(const char* name) {
  return BackendEntry(DeviceKind::kCpu, name, BackendEntry::Kind::kBuiltIn, "");
}

/// y = a + b. Derived layers compute something else.
class AddLayer : public Layer {
 public:
  std::string_view type() const override { return "add"; }
  std::string describe() const override { return "add"; }
  Shape infer_shape(const std::vector<Shape>& inputs) const override {
    if (inputs.size() != 2 || inputs[0] != inputs[1]) throw DataError("add needs two inputs of one shape");
    return inputs[0];
  }
  Work work(const std::vector<Shape>& inputs) const override {
    const double count = static_cast<double>(inputs[0].num_elements());
    return {count, 12 * count};
  }
  std::vector<const BackendEntry*> backend_entries(DeviceKind) const override {
    static const BackendEntry plain = toy_entry("plain");
    return {&plain};
  }

 private:
  virtual void compute(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext&) const {
    for (int64_t i = 0; i < output.shape.num_elements(); ++i)
      output.data[i] = inputs[0].data[i] + inputs[1].data[i];
  }
  std::unique_ptr<Operator> make_operator(const BackendEntry&, const OperatorRequest&,
                                          Stream&) const override {
    return std::make_unique<Op>(*this);
  }
  class Op : public Operator {
   public:
    explicit Op(const AddLayer& layer) : layer_(layer) {}
    void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
      layer_.compute(inputs, output, context);
    }

   private:
    const AddLayer& layer_;
  };
};

/// y = max(x, 0).
class ToyRelu : public AddLayer {
 public:
  std::string_view type() const override { return "relu"; }
  Shape infer_shape(const std::vector<Shape>& inputs) const override { return inputs.at(0); }

 private:
  void compute(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext&) const override {
    for (int64_t i = 0; i < output.shape.num_elements(); ++i)
      output.data[i] = std::max(inputs[0].data[i], 0.0f);
  }
};

/// Maxima over 2x2 windows of [N, C, H, W], H and W even.
class ToyPool : public AddLayer {
 public:
  explicit ToyPool(int size = 2) : size_(size) {}
  std::string_view type() const override { return "max_pool2d"; }
  Shape infer_shape(const std::vector<Shape>& inputs) const override {
    const Shape& x = inputs.at(0);
    return {x[0], x[1], (x[2] - size_) / 2 + 1, (x[3] - size_) / 2 + 1};
  }
  int size() const { return size_; }

 private:
  void compute(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext&) const override {
    const int64_t columns = inputs[0].shape[3], windows = columns / 2;
    for (int64_t i = 0; i < output.shape.num_elements(); ++i) {
      const float* top = inputs[0].data + i / windows * 2 * columns + i % windows * 2;
      output.data[i] = std::max(std::max(top[0], top[1]), std::max(top[columns], top[columns + 1]));
    }
  }
  int size_;
};

/// y = factor * x. Backends: "plain", which fuses ReLU and 2x2 max pooling, "staged", which fuses nothing and has a
/// choice, and "refusing", which supports nothing.
class ScaleLayer : public Layer {
 public:
  explicit ScaleLayer(float factor) : factor_(factor) {}
  std::string_view type() const override { return "scale"; }
  std::string describe() const override { return "scale"; }
  bool uses_math() const override { return true; }
  Shape infer_shape(const std::vector<Shape>& inputs) const override { return inputs.at(0); }
  Work work(const std::vector<Shape>& inputs) const override {
    const double count = static_cast<double>(inputs[0].num_elements());
    return {count, 8 * count};
  }
  std::vector<const BackendEntry*> backend_entries(DeviceKind) const override {
    static const BackendEntry refusing = toy_entry("refusing"), plain = toy_entry("plain"),
                              staged = toy_entry("staged");
    return {&refusing, &plain, &staged};
  }

 private:
  Support do_supports(const BackendEntry& backend, const OperatorRequest& request) const override {
    if (backend.name() == "refusing") return Support::no("it always refuses");
    if (request.math != MathMode::kFp32) return Support::no(backend.name() + " computes in fp32 only");
    if (request.fused.empty()) return Support::yes();
    if (backend.name() != "plain") return Support::no("backend " + backend.name() + " fuses nothing");
    int relus = 0, pools = 0;
    for (const Layer* layer : request.fused) {
      const auto* const pool = dynamic_cast<const ToyPool*>(layer);
      if (pool && pool->size() != 2) return Support::no("plain pools 2x2 alone");
      pools += pool ? 1 : 0;
      relus += dynamic_cast<const ToyRelu*>(layer) ? 1 : 0;
    }
    const bool known = relus + pools == static_cast<int>(request.fused.size());
    return known && relus < 2 && pools < 2 ? Support::yes()
                                           : Support::no("plain fuses one ReLU and one pooling");
  }
  // Pools only if the window is not 1x1.
  bool do_suits(const BackendEntry&, const OperatorRequest& request) const override {
    return factor_ != 1 || !holds<ToyPool>(request);
  }
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream&) const override {
    return std::make_unique<Op>(factor_, request, backend.name() == "staged");
  }
  template <typename Kind>
  static bool holds(const OperatorRequest& request) {
    return std::any_of(request.fused.begin(), request.fused.end(),
                       [](const Layer* layer) { return dynamic_cast<const Kind*>(layer) != nullptr; });
  }

  class Op : public Operator {
   public:
    Op(float factor, const OperatorRequest& request, bool staged)
        : factor_(factor),
          relu_(holds<ToyRelu>(request)),
          pool_(holds<ToyPool>(request)),
          staged_(staged),
          choice_(request.choice) {}
    size_t workspace_bytes() const override { return staged_ ? 4096 : 0; }
    std::string choice() const override { return staged_ && choice_.empty() ? "quickest" : choice_; }
    void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
      ScopedStage stage(staged_ ? context.tracer : nullptr, "multiply");
      for (int64_t i = 0; i < output.shape.num_elements(); ++i) {
        const float value = factor_ * (pool_ ? largest(inputs[0], i) : inputs[0].data[i]);
        output.data[i] = relu_ ? std::max(value, 0.0f) : value;
      }
      if (staged_) static_cast<char*>(context.workspace)[4095] = 1;
    }

   private:
    // The largest value of window `index`; the smallest if the factor is negative.
    float largest(const ConstTensorView& x, int64_t index) const {
      const int64_t columns = x.shape[3], windows = columns / 2;
      const float* top = x.data + index / windows * 2 * columns + index % windows * 2;
      const auto pick = [this](float a, float b) { return (factor_ < 0) == (a < b) ? a : b; };
      return pick(pick(top[0], top[1]), pick(top[columns], top[columns + 1]));
    }
    float factor_;
    bool relu_;
    bool pool_;
    bool staged_;
    std::string choice_;
  };
  float factor_;
};

/// ToyRelu with a limit on the number of input elements, like a convolution.
class LimitedLayer : public ToyRelu {
 public:
  explicit LimitedLayer(int64_t max_elements) : max_elements_(max_elements) {}
  Shape infer_shape(const std::vector<Shape>& inputs) const override {
    if (inputs.at(0).num_elements() > max_elements_) throw DataError("too many elements");
    return inputs[0];
  }

 private:
  int64_t max_elements_;
};

/// x -> a = -2x -> relu -> b = 3 * relu; out = a' + b with a' = relu(-2x), so out = 4 * relu(-2x).
inline Graph diamond() {
  Graph graph("diamond", "x", {5});
  graph.add("a", std::make_unique<ScaleLayer>(-2.0f), {"x"});
  graph.add("relu", std::make_unique<ToyRelu>(), {"a"});
  graph.add("b", std::make_unique<ScaleLayer>(3.0f), {"relu"});
  graph.add("out", std::make_unique<AddLayer>(), {"relu", "b"});
  return graph;
}

/// x [N, 1, 2, 4] -> a = -2x -> relu and pool, in either order -> b = 3 * that.
inline Graph pooled_chain(bool relu_first) {
  Graph graph("chain", "x", {1, 2, 4});
  graph.add("a", std::make_unique<ScaleLayer>(-2.0f), {"x"});
  const std::string last = relu_first ? "pool" : "relu";
  if (relu_first) graph.add("relu", std::make_unique<ToyRelu>(), {"a"});
  graph.add("pool", std::make_unique<ToyPool>(), {relu_first ? "relu" : "a"});
  if (!relu_first) graph.add("relu", std::make_unique<ToyRelu>(), {"pool"});
  graph.add("b", std::make_unique<ScaleLayer>(3.0f), {last});
  return graph;
}

}  // namespace lenslet::toys
