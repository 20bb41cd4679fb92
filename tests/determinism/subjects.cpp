#include "tests/determinism/subjects.h"

#include <algorithm>

#include "framework/base/error.h"
#include "framework/tensor/pixels.h"
#include "layers/pool/pool_layer.h"
#include "layers/reference/fill.h"
#include "layers/reference/subjects.h"
#include "layers/relu/relu_layer.h"
#include "tests/support/lenet5.h"

namespace lenslet::determinism {
namespace {

// An odd number, so that a sample visits every place of a tile; layers outside LeNet-5 need only a few.
constexpr int kSamples = 7, kFewSamples = 3;

struct LayerCase {
  std::shared_ptr<const Layer> layer;
  std::vector<Shape> inputs;  // for batch 1
  bool of_lenet5 = false;
};

void add_lenet5(std::vector<LayerCase>& cases) {
  const std::vector<Shape> shapes = lenet5().infer_shapes(1);
  for (const Graph::Node& node : lenet5().nodes()) {
    if (!node.layer) continue;
    cases.push_back({std::shared_ptr<const Layer>(node.layer.get(), [](const Layer*) {}),
                     node.input_shapes(shapes), true});
  }
}

const std::vector<LayerCase>& layer_cases() {
  static const std::vector<LayerCase> cases = [] {
    std::vector<LayerCase> all;
    add_lenet5(all);
    for (const auto& subject : reference::repeated_subjects(LENSLET_SOURCE_DIR "/layers/conv/problems"))
      all.push_back({subject->layer(), subject->inputs()});
    return all;
  }();
  return cases;
}

Bytes sample_of(const Shape& shape, uint64_t seed) {
  const std::vector<float> values =
      reference::normal_values(static_cast<size_t>(shape.num_elements()), 100 + seed);
  const auto* first = reinterpret_cast<const uint8_t*>(values.data());
  return {first, first + shape.bytes()};
}

// The batch of a layer outside LeNet-5: it takes the CPU, or the copies to a GPU, a few milliseconds.
int64_t affordable_batch(const LayerCase& entry, Device device) {
  if (entry.of_lenet5) return 1000;
  const double flops = std::max(entry.layer->work(entry.inputs).flops, 1.0);
  const double bytes =
      static_cast<double>(entry.inputs[0].bytes() + entry.layer->infer_shape(entry.inputs).bytes());
  const double max_count =
      device.is_cuda() ? std::min(2e10 / flops, 3e7 / bytes) : std::min(1.5e7 / flops, 4e6 / bytes);
  return static_cast<int64_t>(std::min(max_count, 65.0));
}

void add_layer_subjects(const LayerCase& entry, const std::string& backend, Device device,
                        std::vector<Subject>& all, std::string& why_not) {
  const int64_t largest = affordable_batch(entry, device);
  if (largest < 2) return;
  for (const MathMode math : kMathModes) {
    if (math != MathMode::kFp32 && !entry.layer->uses_math()) continue;
    const OperatorRequest request = request_for(*entry.layer, entry.inputs, device, math);
    if (const Support support = entry.layer->supports(backend, request); !support) {
      why_not = support.reason();
      continue;
    }
    // The convolution tests already repeat a prepared operator on every problem.
    if (!entry.of_lenet5 && entry.layer->determinism(backend, request) == Determinism::kBounded) continue;
    const int samples = entry.of_lenet5 ? kSamples : kFewSamples;
    all.push_back(layer_subject(*entry.layer, backend, request, samples, largest));
    OperatorRequest fused = request;
    static const ReluLayer kRelu;
    static const MaxPool2dLayer kPool(Pool2dWindow::square(2, 2));
    const BackendEntry& row = *entry.layer->find_backend(backend, device.kind);
    const bool relu = static_cast<bool>(fuse(*entry.layer, row, kRelu, fused));
    const bool pool = request.output.rank() == 4 && request.output[2] > 1 && request.output[3] > 1 &&
                      static_cast<bool>(fuse(*entry.layer, row, kPool, fused));
    if (relu || pool) all.push_back(layer_subject(*entry.layer, backend, fused, samples, largest));
  }
}

Subject fused_subject(const std::string& backend, const OperatorRequest& request) {
  constexpr int64_t kMaxBatch = 1 << 20;
  Subject subject = layer_subject(*lenet5().network(), backend, request, 0, kMaxBatch);
  subject.name = concat("the whole-network plan by ", backend, ", ", to_string(request.math), ", ",
                        to_string(request.input_type), " in, ", to_string(request.output_type), " out");
  constexpr size_t kPixels = kLenet5Pixels;
  reference::Random random(9);
  for (int i = 0; i < kSamples; ++i) {
    Bytes pixels(kPixels);
    for (uint8_t& pixel : pixels) {  // a third of them ink, as in a digit
      pixel = random.below(3) == 0 ? static_cast<uint8_t>(random.below(256)) : uint8_t{0};
    }
    if (request.input_type == ElementType::kUint8) {
      subject.samples.push_back(pixels);
      continue;
    }
    if (request.input_type == ElementType::kUint4) {
      Bytes packed(kPixels / 2);
      pack_pixels(pixels.data(), kPixels, reinterpret_cast<PixelPair*>(packed.data()));
      subject.samples.push_back(packed);
      continue;
    }
    std::vector<float> values(kPixels);
    normalise_mnist(pixels.data(), 1, values.data());
    const auto* first = reinterpret_cast<const uint8_t*>(values.data());
    subject.samples.emplace_back(first, first + kPixels * sizeof(float));
  }
  return subject;
}

void add_network_subjects(const std::string& backend, Device device, std::vector<Subject>& all,
                          std::string& why_not) {
  for (const reference::NetworkSubject& offered : reference::network_subjects(lenet5(), device, {1})) {
    if (offered.backend != backend) continue;
    const Support support = lenet5().network()->supports(backend, offered.request);
    if (support) {
      all.push_back(fused_subject(backend, offered.request));
    } else {
      why_not = support.reason();
    }
  }
}

}  // namespace

Subject layer_subject(const Layer& layer, const std::string& backend, const OperatorRequest& request,
                      int samples, int64_t largest_batch) {
  const auto at = [request](int64_t batch) {
    OperatorRequest other = request;
    for (Shape& shape : other.inputs) shape = shape.with_batch(batch);
    other.output = request.output.with_batch(batch);
    return other;
  };
  const auto supports = [&layer, backend, at, largest_batch](int64_t batch) {
    return batch <= largest_batch && static_cast<bool>(layer.supports(backend, at(batch)));
  };
  std::string after;
  for (const Layer* fused : request.fused) after += concat(" with ", fused->type());
  Subject subject;
  subject.name = concat(layer.type(), " by ", backend, ", ", to_string(request.math), after, ": ",
                        layer.describe(), " of ", request.inputs[0].to_string());
  // For the smallest batch and the largest: a backend may promise less for one of them.
  subject.promise = layer.determinism(backend, request);
  if (supports(largest_batch)) {
    subject.promise = weaker(subject.promise, layer.determinism(backend, at(largest_batch)));
  }
  subject.device = request.device;
  for (int i = 0; i < samples; ++i) {
    subject.samples.push_back(sample_of(request.inputs[0], static_cast<uint64_t>(i)));
  }
  subject.supports = supports;
  subject.prepare = [&layer, backend, at](int64_t batch) {
    const OperatorRequest here = at(batch);
    return std::make_unique<Prepared>(
        here.device, ConstTensorView{nullptr, here.inputs[0], here.device, here.input_type},
        TensorView{nullptr, here.output, here.device, here.output_type},
        [&layer, backend, here](Stream& stream) { return layer.prepare(backend, here, stream); });
  };
  return subject;
}

std::vector<Family> families(DeviceKind kind) {
  std::vector<Family> all;
  const auto add = [&all](const std::string& type, const std::vector<const BackendEntry*>& backends) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const Family& f) { return f.type == type; });
    if (known) return;
    for (const BackendEntry* entry : backends) all.push_back({type, entry->name(), entry->is_module()});
  };
  for (const LayerCase& entry : layer_cases()) {
    add(std::string(entry.layer->type()), entry.layer->backend_entries(kind));
  }
  add("fused", lenet5().network()->backend_entries(kind));
  return all;
}

std::vector<Subject> subjects(const Family& family, Device device, std::string& why_not, bool small) {
  std::vector<Subject> all;
  if (family.type == "fused") {
    add_network_subjects(family.backend, device, all, why_not);
    return all;
  }
  for (const LayerCase& entry : layer_cases()) {
    if (entry.layer->type() != family.type || (small && !entry.of_lenet5)) continue;
    add_layer_subjects(entry, family.backend, device, all, why_not);
  }
  return all;
}

}  // namespace lenslet::determinism
