// A network of one layer that adds 1 to each of four values, and faults and delays planted in it: a stand-in for a
// device.
#pragma once

#include <atomic>
#include <functional>
#include <memory>

#include "api/feed.h"
#include "tests/framework/toy_layers.h"

namespace lenslet::test {

inline constexpr int64_t kValues = 4;

/// What happens in each run of a device, before it computes. Set `before` while nothing runs.
struct Planted {
  std::function<void(int run)> before = [](int) {};  // `run` counts from 0
  std::atomic<int> runs{0};
};

/// y = x + 1.
class PlantedLayer : public toys::AddLayer {
 public:
  explicit PlantedLayer(Planted& planted) : planted_(planted) {}
  Shape infer_shape(const std::vector<Shape>& inputs) const override { return inputs.at(0); }

 private:
  void compute(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext&) const override {
    planted_.before(planted_.runs++);
    for (int64_t i = 0; i < output.shape.num_elements(); ++i) output.data[i] = inputs[0].data[i] + 1;
  }
  Planted& planted_;
};

/// A device on the CPU, with its network.
struct ToyDevice {
  ToyDevice(int64_t batch, int lanes, int depth = 1) : graph("toy", "input", {kValues}) {
    graph.add("plus_one", std::make_unique<PlantedLayer>(planted), {"input"});
    BuildOptions pass;
    pass.batch = batch;
    FeedOptions options;
    options.lanes = lanes;
    options.depth = depth;
    options.staged = true;
    feed = std::make_unique<Feed>(graph, pass, options);
    feed->prepare();
  }
  Planted planted;
  Graph graph;
  std::unique_ptr<Feed> feed;
};

}  // namespace lenslet::test
