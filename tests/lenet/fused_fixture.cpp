#include "tests/lenet/fused_fixture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>

#include "framework/tensor/poison.h"
#include "layers/reference/fill.h"
#include "layers/reference/guarded_memory.h"
#include "layers/reference/guarded_run.h"
#include "layers/reference/subjects.h"
#include "layers/softmax/softmax_error.h"
#include "models/classifier.h"
#include "models/lenet5.h"
#include "models/prediction.h"
#include "tests/lenet/fused_reference.h"

namespace lenslet {
namespace {

using reference::GuardedMemory;

// Largest accepted bound, as a share of the largest logit: a larger one would accept anything.
const std::map<MathMode, double> kMaxBound = {
    {MathMode::kFp32, 1e-3}, {MathMode::kTf32, 0.1}, {MathMode::kFp16, 0.1}, {MathMode::kInt8, 0.1}};

// Strokes, blanks, full ink and noise.
std::vector<uint8_t> make_images() {
  std::vector<uint8_t> pixels(static_cast<size_t>(kImages * kPixels), 0);
  reference::Random random(17);
  for (int64_t i = 0; i < kImages; ++i) {
    uint8_t* const image = pixels.data() + i * kPixels;
    if (i == 1) std::fill(image, image + kPixels, uint8_t{255});
    if (i < 2) continue;
    if (i % 4 == 0) {
      for (int64_t p = 0; p < kPixels; ++p) image[p] = static_cast<uint8_t>(random.below(256));
      continue;
    }
    const int strokes = 1 + static_cast<int>(random.below(4));
    for (int s = 0; s < strokes; ++s) {
      double y = 4 + static_cast<double>(random.below(20)), x = 4 + static_cast<double>(random.below(20));
      const double dy = random.uniform(), dx = random.uniform();
      for (int step = 0; step < 14; ++step, y += dy, x += dx) {
        const auto row = static_cast<int64_t>(y), column = static_cast<int64_t>(x);
        if (row < 0 || row > 26 || column < 0 || column > 26) break;
        for (const int64_t at : {row * 28 + column, row * 28 + column + 1, (row + 1) * 28 + column})
          image[at] = static_cast<uint8_t>(128 + random.below(128));
      }
    }
  }
  return pixels;
}

}  // namespace

JudgedLenet5::JudgedLenet5(const Safetensors& parameters)
    : model(std::make_shared<Graph>(make_lenet5(parameters, "the test"))),
      network(model, model->network()),
      pixels(make_images()),
      packed(pixels.size() / 2),
      normalised(pixels.size()) {
  // Rounded and packed here by hand, so that pack_pixels() is not judged by itself.
  std::vector<uint8_t> rounded;
  for (const uint8_t pixel : pixels) rounded.push_back(static_cast<uint8_t>(std::lround(pixel / 17.0) * 17));
  for (size_t i = 0; i < packed.size(); ++i)
    packed[i] = static_cast<PixelPair>(rounded[2 * i] / 17 + rounded[2 * i + 1] / 17 * 16);
  normalise_mnist(rounded.data(), kImages, normalised.data());
  logits_of_packed = reference_logits(parameters, normalised);
  normalise_mnist(pixels.data(), kImages, normalised.data());
  logits = reference_logits(parameters, normalised);
  for (const double logit : logits) largest = std::max(largest, std::abs(logit));
}

const void* JudgedLenet5::images(ElementType type) const {
  return type == ElementType::kUint8   ? static_cast<const void*>(pixels.data())
         : type == ElementType::kUint4 ? static_cast<const void*>(packed.data())
                                       : normalised.data();
}

const JudgedLenet5& trained() {
  static const JudgedLenet5 net(builtin_lenet5_weights());
  return net;
}
const JudgedLenet5& untrained() {
  static const JudgedLenet5 net(random_lenet5_parameters());
  return net;
}

// Observed errors must be far smaller than the bounds.
double largest_error(MathMode math) {
  return math == MathMode::kFp32 ? 1e-5 : math == MathMode::kInt8 ? 0.05 : 1e-2;
}

std::vector<uint8_t> run_batch(const JudgedLenet5& net, const std::string& backend,
                               const OperatorRequest& request, int64_t shift,
                               const std::vector<float>* images) {
  Stream stream(kDevice);
  const std::unique_ptr<Operator> op = net.network->prepare(backend, request, stream);
  const size_t image_bytes = bytes_of(request.input_type, kPixels);
  const size_t input_bytes = image_bytes * static_cast<size_t>(request.batch());
  std::vector<uint8_t> input(input_bytes);
  const auto* const source =
      static_cast<const uint8_t*>(images ? images->data() : net.images(request.input_type));
  for (int64_t i = 0; i < request.batch(); ++i) {
    std::memcpy(input.data() + static_cast<size_t>(i) * image_bytes,
                source + static_cast<size_t>((i + shift) % kImages) * image_bytes, image_bytes);
  }
  const reference::GuardedRun run =
      reference::run_guarded(stream, *op, {nullptr, request.inputs[0], kDevice, request.input_type},
                             input.data(), {nullptr, request.output, kDevice, request.output_type});
  EXPECT_EQ(run.fault, "");
  const auto* const bytes = reinterpret_cast<const uint8_t*>(run.output.data());
  return {bytes, bytes + run.output.size() * sizeof(float)};
}

std::vector<uint8_t> run_repeated(const JudgedLenet5& net, const std::string& backend,
                                  const OperatorRequest& request) {
  Stream stream(kDevice);
  const std::unique_ptr<Operator> op = net.network->prepare(backend, request, stream);
  const size_t distinct_bytes = bytes_of(request.input_type, kImages * kPixels);
  const Shape& input_shape = request.inputs[0];
  const size_t image_bytes = bytes_of(request.output_type, 1) * (request.output.rank() == 1 ? 1 : 10);
  std::vector<uint8_t> output(image_bytes * static_cast<size_t>(request.batch()));
  const Buffer input(kDevice, bytes_of(request.input_type, input_shape.num_elements()));
  copy_bytes(input.data(), kDevice, net.images(request.input_type), Device::cpu(), distinct_bytes, stream);
  for (size_t filled = distinct_bytes; filled < input.bytes(); filled *= 2) {
    copy_bytes(input.as<uint8_t>() + filled, kDevice, input.data(), kDevice,
               std::min(filled, input.bytes() - filled), stream);
  }
  GuardedMemory memory(kDevice, {output.size(), op->workspace_bytes()});
  memory.poison(kNanByte, stream);
  RunContext context{stream, memory.block(1), nullptr};
  op->run({{input.as<float>(), input_shape, kDevice, request.input_type}},
          {static_cast<float*>(memory.block(0)), request.output, kDevice, request.output_type}, context);
  memory.download(0, output.data(), stream);
  EXPECT_EQ(memory.damage(kNanByte, stream), "") << "blocks: 0 output, 1 workspace";
  for (int64_t i = kImages; i < request.batch(); ++i) {
    const uint8_t* const here = output.data() + static_cast<size_t>(i) * image_bytes;
    const uint8_t* const there = output.data() + static_cast<size_t>(i % kImages) * image_bytes;
    if (std::memcmp(here, there, image_bytes) == 0) continue;
    ADD_FAILURE() << "image " << i << " of " << request.batch() << " is not as image " << i % kImages;
    break;
  }
  return output;
}

std::vector<float> as_logits(const std::vector<uint8_t>& bytes) {
  std::vector<float> logits(bytes.size() / sizeof(float));
  std::memcpy(logits.data(), bytes.data(), bytes.size());
  return logits;
}

void judge_first_logits(const JudgedLenet5& net, const std::string& backend, const OperatorRequest& request,
                        const std::vector<float>& logits) {
  const double bound = net.network->output_bound(backend, request);
  const std::vector<double>& expected = net.logits_of(request.input_type);
  for (size_t i = 0; i < expected.size(); ++i)
    ASSERT_LE(std::abs(double{logits[i]} - expected[i]), bound) << "image " << i / 10 << " logit " << i % 10;
}

double judge_logits(const JudgedLenet5& net, const std::string& backend, const OperatorRequest& request) {
  const double bound = net.network->output_bound(backend, request);
  EXPECT_GT(bound, 0);
  EXPECT_LE(bound, kMaxBound.at(request.math) * net.largest);
  const int64_t shift = request.batch() % 5;
  const std::vector<float> logits = as_logits(run_batch(net, backend, request, shift));
  double largest = 0;
  for (int64_t i = 0; i < request.batch(); ++i) {
    for (int64_t k = 0; k < 10; ++k) {
      const double expected =
          net.logits_of(request.input_type)[static_cast<size_t>((i + shift) % kImages * 10 + k)];
      const double found = logits[static_cast<size_t>(i * 10 + k)];
      const double error = std::abs(found - expected);
      if (!(error <= bound)) {  // so that a NaN is no pass
        ADD_FAILURE() << "image " << i << " logit " << k << ": " << found << ", the judge " << expected;
        return HUGE_VAL;
      }
      largest = std::max(largest, error / net.largest);
    }
  }
  EXPECT_LE(largest, largest_error(request.math)) << "further from the judge than this math mode has to be";
  return largest;
}

void judge_predictions(const JudgedLenet5& net, const std::string& backend, const OperatorRequest& request) {
  const OperatorRequest for_logits =
      net.model->network_request(kDevice, request.batch(), request.math, request.input_type);
  ASSERT_TRUE(net.network->supports(backend, for_logits));
  const std::vector<uint8_t> bytes = run_batch(net, backend, request, 2);
  const std::vector<float> logits = as_logits(run_batch(net, backend, for_logits, 2));
  for (int64_t i = 0; i < request.batch(); ++i) {
    Prediction prediction;
    std::memcpy(&prediction, bytes.data() + static_cast<size_t>(i) * sizeof prediction, sizeof prediction);
    const float* const row = logits.data() + i * 10;
    ASSERT_EQ(prediction.label, std::max_element(row, row + 10) - row) << "image " << i << ", the judge";
    std::array<double, 10> probabilities;
    softmax(row, 10, probabilities.data());
    ASSERT_NEAR(prediction.probability, probabilities[static_cast<size_t>(prediction.label)], kSoftmaxError)
        << "image " << i << ", the judge";
  }
}

void for_each_offer(const JudgedLenet5& net, int64_t batch, ElementType output,
                    const std::function<void(const std::string&, const OperatorRequest&)>& visit) {
  for (const auto& [backend, request] : reference::network_subjects(*net.model, kDevice, {batch})) {
    if (request.output_type != output || !net.network->supports(backend, request)) continue;
    SCOPED_TRACE(
        concat(backend, " ", to_string(request.math), " ", to_string(request.input_type), " batch ", batch));
    visit(backend, request);
  }
}

}  // namespace lenslet
