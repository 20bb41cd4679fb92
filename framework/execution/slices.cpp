#include "framework/execution/slices.h"

#include <algorithm>
#include <cmath>

#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"

namespace lenslet {
namespace {

// What one layer of a slice reads and writes, chosen by hand: 2 MiB lies between the L2 cache of a core (1 to 2 MiB)
// and its share of the L3 cache (4 MiB where eight cores have 32 MiB), so that the next layer finds it in one of them.
constexpr double kBytesPerThread = double{1 << 21};

/// The bytes of one sample.
struct Sizes {
  double at_once = 0;  // the most that one layer reads and writes, without weights
  double written = 0;  // by all layers
  double weights = 0;  // of all layers
};

Sizes sizes_of(const Graph& graph, const BuildOptions& options) {
  const std::vector<Shape> shapes = graph.infer_shapes(1);
  Sizes sizes;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Graph::Node& node = graph.nodes()[i];
    if (!node.layer) continue;
    const auto output = static_cast<double>(shapes[i].bytes());
    double values = output;
    for (const int input : node.inputs)
      values += static_cast<double>(shapes[static_cast<size_t>(input)].bytes());
    sizes.at_once = std::max(sizes.at_once, values);
    sizes.written += output;
    const Work work = node.layer->work_of(node_request(graph, i, shapes, options));
    sizes.weights += work.bytes + work.unread * sizeof(float) - values;
  }
  return sizes;
}

}  // namespace

int64_t slice_samples(const Graph& graph, const BuildOptions& options) {
  const int64_t batch = options.batch;
  const bool layered = (options.plan ? options.plan->execution : options.execution) == Plan::kLayered;
  if (options.device.is_cuda() || options.keep_activations || !layered || batch < 2) return batch;
  const Sizes sizes = sizes_of(graph, options);
  const auto fitting = static_cast<int64_t>(
      std::min(num_threads() * kBytesPerThread / sizes.at_once, static_cast<double>(batch)));
  // Each slice reads the weights again.
  if (fitting < 1 || sizes.weights > static_cast<double>(fitting) * sizes.written) return batch;
  // If the batch is not a multiple of the slice, the last slice overlaps the one before it and computes some samples
  // twice. Take the size near `fitting` that computes the fewest samples.
  int64_t best = fitting;
  for (int64_t slice = std::max<int64_t>(fitting / 2, 1); slice <= std::min(2 * fitting, batch); ++slice) {
    const int64_t computed = round_up(batch, slice), min_computed = round_up(batch, best);
    const bool nearer = std::abs(slice - fitting) < std::abs(best - fitting);
    if (computed < min_computed || (computed == min_computed && nearer)) best = slice;
  }
  return best;
}

}  // namespace lenslet
