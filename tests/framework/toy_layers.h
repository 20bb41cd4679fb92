// Layers small enough to reason about, for tests of the graph machinery. CPU only.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/graph.h"
#include "framework/layer.h"

namespace lenslet::toys {

/// y = factor * x. Backends: "plain", which fuses ReLU and 2x2 max pooling, "staged", which fuses nothing and has a
/// choice to make, and "refusing", which never serves.
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
  std::vector<std::string> backends(DeviceKind) const override { return {"refusing", "plain", "staged"}; }
  Support supports(const std::string& backend, const OperatorRequest& request) const override {
    if (backend == "refusing") return Support::no("it always refuses");
    if (request.math != MathMode::kFp32) return Support::no("only fp32");
    return Support::yes();
  }
  std::unique_ptr<Operator> prepare(const std::string& backend, const OperatorRequest& request,
                                    Stream&) const override {
    return std::make_unique<Op>(factor_, request, backend == "staged");
  }
  bool can_fuse_relu(const std::string& backend, DeviceKind) const override { return backend == "plain"; }
  Support can_fuse_max_pool(const std::string& backend, const OperatorRequest&,
                            const Pool2dWindow& window) const override {
    if (backend != "plain") return Support::no(backend + " pools nothing");
    return window.kernel_h == 2 ? Support::yes() : Support::no("plain pools 2x2 alone");
  }
  // Not where x is handed on as it is.
  bool suits_max_pool(const std::string&, const OperatorRequest&, const Pool2dWindow&) const override {
    return factor_ != 1;
  }

 private:
  class Op : public Operator {
   public:
    Op(float factor, const OperatorRequest& request, bool staged)
        : factor_(factor),
          relu_(request.fuse_relu),
          pool_(request.fuse_max_pool),
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
    // Of window `index`; the least where the factor turns it around.
    float largest(const ConstTensorView& x, int64_t index) const {
      const int64_t columns = x.shape[3], windows = columns / 2;
      const float* top = x.data + index / windows * 2 * columns + index % windows * 2;
      const auto pick = [this](float a, float b) { return (factor_ < 0) == (a < b) ? a : b; };
      return pick(pick(top[0], top[1]), pick(top[columns], top[columns + 1]));
    }
    float factor_;
    bool relu_;
    std::optional<Pool2dWindow> pool_;
    bool staged_;
    std::string choice_;
  };
  float factor_;
};

/// y = a + b.
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
  std::vector<std::string> backends(DeviceKind) const override { return {"plain"}; }
  Support supports(const std::string&, const OperatorRequest&) const override { return Support::yes(); }
  std::unique_ptr<Operator> prepare(const std::string&, const OperatorRequest&, Stream&) const override {
    return std::make_unique<Op>();
  }

 private:
  class Op : public Operator {
   public:
    void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext&) override {
      for (int64_t i = 0; i < output.shape.num_elements(); ++i)
        output.data[i] = inputs[0].data[i] + inputs[1].data[i];
    }
  };
};

/// y = max(x, 0).
class ToyRelu : public AddLayer {
 public:
  std::string_view type() const override { return "relu"; }
  Shape infer_shape(const std::vector<Shape>& inputs) const override { return inputs.at(0); }
  bool is_relu() const override { return true; }
  std::unique_ptr<Operator> prepare(const std::string&, const OperatorRequest&, Stream&) const override {
    return std::make_unique<Op>();
  }

 private:
  class Op : public Operator {
   public:
    void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext&) override {
      for (int64_t i = 0; i < output.shape.num_elements(); ++i)
        output.data[i] = std::max(inputs[0].data[i], 0.0f);
    }
  };
};

/// Maxima over 2x2 windows of [N, C, H, W], H and W even.
class ToyPool : public AddLayer {
 public:
  explicit ToyPool(int kernel = 2) : window_(Pool2dWindow::square(kernel, 2)) {}
  std::string_view type() const override { return "max_pool2d"; }
  Shape infer_shape(const std::vector<Shape>& inputs) const override {
    const Shape& x = inputs.at(0);
    return {x[0], x[1], window_.rows(x[2]), window_.columns(x[3])};
  }
  const Pool2dWindow* max_pool_window() const override { return &window_; }
  std::unique_ptr<Operator> prepare(const std::string&, const OperatorRequest&, Stream&) const override {
    return std::make_unique<Op>();
  }

 private:
  class Op : public Operator {
   public:
    void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext&) override {
      const int64_t columns = inputs[0].shape[3], windows = columns / 2;
      for (int64_t i = 0; i < output.shape.num_elements(); ++i) {
        const float* top = inputs[0].data + i / windows * 2 * columns + i % windows * 2;
        output.data[i] = std::max(std::max(top[0], top[1]), std::max(top[columns], top[columns + 1]));
      }
    }
  };
  Pool2dWindow window_;
};

/// ToyRelu that refuses inputs of more than a given number of elements, as a convolution does.
class LimitedLayer : public ToyRelu {
 public:
  explicit LimitedLayer(int64_t most) : most_(most) {}
  Shape infer_shape(const std::vector<Shape>& inputs) const override {
    if (inputs.at(0).num_elements() > most_) throw DataError("too many elements");
    return inputs[0];
  }

 private:
  int64_t most_;
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
