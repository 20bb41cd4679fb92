// The whole-network LeNet-5 on the CPU with the kernels of every instruction set of this processor, one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "framework/base/parallel.h"
#include "framework/tensor/pixels.h"
#include "layers/reference/compare.h"
#include "layers/reference/fill.h"
#include "layers/reference/guarded_run.h"
#include "layers/softmax/softmax_error.h"
#include "models/classifier.h"
#include "models/fused_lenet5/cpu/simd/kernels.h"
#include "models/fused_lenet5/fused_lenet5.h"
#include "models/fused_lenet5/network_backend.h"
#include "models/fused_lenet5/unpacking.h"
#include "models/lenet5.h"
#include "models/prediction.h"
#include "tests/lenet/fused_reference.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

constexpr size_t kPixels = kLenet5Pixels, kClasses = kLenet5Classes, kImages = 129;
// Batches around one image, the tiles of the fully connected layers, and the group of 12 that they process together.
constexpr int64_t kBatches[] = {1, 2, 3, 7, 8, 9, 12, 13, 15, 16, 17, 23, 24, 25, 64, kImages};

/// Parameters of a complete LeNet-5 with elements from `value`.
Safetensors make_parameters(const std::function<float()>& value) {
  Safetensors all = random_lenet5_parameters();
  for (auto& [name, tensor] : all.tensors)
    std::generate_n(tensor.data(), tensor.shape().num_elements(), value);
  return all;
}

constexpr ElementType kInputs[] = {ElementType::kFp32, ElementType::kUint8, ElementType::kUint4};

/// Random pixels, as they are, packed and normalised.
struct Images {
  Images()
      : pixels(kImages * kPixels),
        packed(pixels.size() / 2),
        normalised(pixels.size()),
        greys(pixels.size()) {
    reference::Random random(7);
    for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random.below(256));
    normalise_mnist(pixels.data(), kImages, normalised.data());
    std::vector<uint8_t> rounded;
    for (const uint8_t pixel : pixels)
      rounded.push_back(static_cast<uint8_t>(std::lround(pixel / 17.0) * 17));
    for (size_t i = 0; i < packed.size(); ++i)
      packed[i] = static_cast<uint8_t>(rounded[2 * i] / 17 + rounded[2 * i + 1] / 17 * 16);
    normalise_mnist(rounded.data(), kImages, greys.data());
  }
  std::vector<uint8_t> pixels, packed;
  std::vector<float> normalised, greys;  // greys: of the packed pixels
};
const Images& images() {
  static const Images all;
  return all;
}

const Safetensors& random_parameters() {
  static const Safetensors parameters = random_lenet5_parameters();
  return parameters;
}

OperatorRequest request_of(int64_t batch, ElementType input = ElementType::kFp32,
                           ElementType output = ElementType::kFp32) {
  static const std::unique_ptr<Layer> network = make_fused_lenet5(random_parameters());
  return request_for(*network, {{batch, 1, 28, 28}}, Device::cpu(), MathMode::kFp32, input, output);
}

/// Runs a batch in guarded memory; returns the bytes of the output, four per value.
std::vector<float> run(const SimdKernels& kernels, const Safetensors& parameters,
                       const OperatorRequest& request, const void* input) {
  Stream stream(Device::cpu());
  const std::unique_ptr<Operator> op = make_simd_operator(lenet5_parameters(parameters), request, kernels);
  EXPECT_EQ(op->detail(), kernels.isa);
  const reference::GuardedRun run =
      reference::run_guarded(stream, *op, {nullptr, request.inputs[0], request.device, request.input_type},
                             input, {nullptr, request.output, request.device, request.output_type});
  EXPECT_EQ(run.fault, "");
  return run.output;
}

template <typename T>
std::vector<T> elements(const std::vector<float>& bytes) {
  std::vector<T> values(bytes.size() * sizeof(float) / sizeof(T));
  std::memcpy(static_cast<void*>(values.data()), bytes.data(), bytes.size() * sizeof(float));
  return values;
}

const void* pixels_of(ElementType input) {
  return input == ElementType::kUint8   ? static_cast<const void*>(images().pixels.data())
         : input == ElementType::kUint4 ? static_cast<const void*>(images().packed.data())
                                        : images().normalised.data();
}

void for_each_instruction_set(const std::function<void(const SimdKernels&)>& visit) {
  ASSERT_STREQ(all_simd_kernels().back()->isa, "baseline");
  for (const SimdKernels* kernels : all_simd_kernels()) {
    SCOPED_TRACE(kernels->isa);
    visit(*kernels);
  }
}

TEST(FusedCpu, LogitsAgreeWithTheJudgeForPixelsReadEachWay) {
  const std::vector<double> of_pixels = reference_logits(random_parameters(), images().normalised);
  const std::vector<double> of_greys = reference_logits(random_parameters(), images().greys);
  const std::unique_ptr<Layer> model = make_fused_lenet5(random_parameters());
  for_each_instruction_set([&](const SimdKernels& kernels) {
    for (const ElementType input : kInputs) {
      const std::vector<double>& expected = input == ElementType::kUint4 ? of_greys : of_pixels;
      for (const int64_t batch : kBatches) {
        const OperatorRequest request = request_of(batch, input);
        const double bound = model->output_bound("simd", request);
        const auto logits = elements<float>(run(kernels, random_parameters(), request, pixels_of(input)));
        reference::Comparison comparison;
        for (size_t i = 0; i < logits.size(); ++i)
          comparison.add(static_cast<int64_t>(i), logits[i], expected[i], bound);
        EXPECT_TRUE(comparison.passed())
            << to_string(input) << " batch " << batch << ": " << comparison.reason();
        EXPECT_LE(comparison.max_rel(), 5e-6) << "far worse than rounding explains";
      }
    }
  });
}

// Products of small integers are at least one, so each that is lost or counted twice moves the logits by far more than
// Winograd's roundings.
TEST(FusedCpu, SmallIntegersComeOutToAMillionth) {
  reference::Random random(3);
  const Safetensors parameters = make_parameters([&] { return static_cast<float>(random.below(3)) - 1; });
  const std::vector<float> input = reference::small_integers(kImages * kPixels, 5);
  double largest_sum = 0;
  const std::vector<double> expected = reference_logits(parameters, input, &largest_sum);
  ASSERT_LT(largest_sum, double{1 << 24});
  double largest = 0;
  for (const double logit : expected) largest = std::max(largest, std::abs(logit));
  for_each_instruction_set([&](const SimdKernels& kernels) {
    const auto logits = elements<float>(run(kernels, parameters, request_of(kImages), input.data()));
    reference::Comparison comparison;
    for (size_t i = 0; i < logits.size(); ++i)
      comparison.add(static_cast<int64_t>(i), logits[i], expected[i], 1e-6 * largest);
    EXPECT_TRUE(comparison.passed()) << comparison.reason();
  });
}

TEST(FusedCpu, NeitherBatchNorPositionNorThreadsChangeABit) {
  const int before = num_threads();
  for_each_instruction_set([&](const SimdKernels& kernels) {
    for (const ElementType input : kInputs) {
      const size_t image_bytes = bytes_of(input, kPixels);
      std::vector<float> alone;
      for (size_t i = 0; i < kImages; ++i) {
        const auto* const image = static_cast<const uint8_t*>(pixels_of(input)) + i * image_bytes;
        const auto logits = run(kernels, random_parameters(), request_of(1, input), image);
        alone.insert(alone.end(), logits.begin(), logits.end());
      }
      for (const int threads : {1, 2, 8}) {
        set_num_threads(threads);
        for (const int64_t batch : kBatches) {
          const auto logits = run(kernels, random_parameters(), request_of(batch, input), pixels_of(input));
          EXPECT_EQ(std::memcmp(logits.data(), alone.data(), logits.size() * sizeof(float)), 0)
              << to_string(input) << " batch " << batch << ", " << threads << " threads";
        }
      }
      set_num_threads(before);
    }
  });
}

// What a GPU's backends have in front of them; here before a backend of the CPU, which needs none.
TEST(FusedCpu, AnUnpackingOperatorGivesTheNetworkItsBytes) {
  const SimdKernels& kernels = *all_simd_kernels().front();
  for (const int64_t batch : kBatches) {
    SCOPED_TRACE(batch);
    const OperatorRequest packed = request_of(batch, ElementType::kUint4);
    UnpackingOperator unpacking(make_simd_operator(lenet5_parameters(random_parameters()),
                                                   request_of(batch, ElementType::kUint8), kernels),
                                packed);
    EXPECT_EQ(unpacking.workspace_bytes() % Buffer::kAlignment, 0u);
    EXPECT_GE(unpacking.workspace_bytes(), kPixels * static_cast<size_t>(batch));
    EXPECT_EQ(unpacking.detail(), std::string(kernels.isa) + ", 4-bit pixels unpacked before it");
    Stream stream(Device::cpu());
    const reference::GuardedRun found = reference::run_guarded(
        stream, unpacking, {nullptr, packed.inputs[0], packed.device, packed.input_type},
        images().packed.data(), {nullptr, packed.output, packed.device, packed.output_type});
    EXPECT_EQ(found.fault, "");
    EXPECT_EQ(found.output, run(kernels, random_parameters(), packed, pixels_of(ElementType::kUint4)));
  }
}

TEST(FusedCpu, PredictionsAreArgmaxAndSoftmaxOfTheLogits) {
  for_each_instruction_set([&](const SimdKernels& kernels) {
    for (const ElementType input : kInputs) {
      for (const int64_t batch : kBatches) {
        const auto logits =
            elements<float>(run(kernels, random_parameters(), request_of(batch, input), pixels_of(input)));
        const auto predictions = elements<Prediction>(
            run(kernels, random_parameters(), request_of(batch, input, kPrediction), pixels_of(input)));
        for (size_t i = 0; i < predictions.size(); ++i) {
          const float* const row = logits.data() + i * kClasses;
          double probabilities[kClasses];
          softmax(row, kClasses, probabilities);
          ASSERT_EQ(predictions[i].label, std::max_element(row, row + kClasses) - row) << "image " << i;
          ASSERT_NEAR(predictions[i].probability, probabilities[predictions[i].label], kSoftmaxError)
              << "image " << i;
        }
      }
    }
  });
}

TEST(FusedCpu, ABackendPreparesNothingThatItDoesNotSupport) {
  OperatorRequest request;
  request.math = MathMode::kFp16;
  Stream stream(Device::cpu());
  const NetworkBackend& simd = network_table().find(DeviceKind::kCpu, "simd").open();
  expect_error<UnavailableError>([&] { simd.prepare({}, request, stream); }, "simd computes in fp32 only");
}

// The first of equal logits wins.
TEST(FusedCpu, EqualLogitsGiveTheFirstClass) {
  Safetensors parameters = make_parameters([] { return 0.0f; });
  parameters.tensors["fc3.bias"].data()[3] = 2;
  parameters.tensors["fc3.bias"].data()[7] = 2;
  for_each_instruction_set([&](const SimdKernels& kernels) {
    const auto prediction = elements<Prediction>(
        run(kernels, parameters, request_of(1, ElementType::kUint8, kPrediction), images().pixels.data()));
    EXPECT_EQ(prediction[0].label, 3);
    EXPECT_NEAR(prediction[0].probability, 1 / (2 + 8 * std::exp(-2.0)), kSoftmaxError);
  });
}

// Every pixel contributes to every logit, so a NaN of either sign at any place must appear.
TEST(FusedCpu, ANanInAnyPixelReachesEveryLogit) {
  std::vector<float> input(kPixels * kPixels);
  for (size_t i = 0; i < kPixels; ++i) {
    std::copy_n(images().normalised.data(), kPixels, input.data() + i * kPixels);
    input[i * kPixels + i] = std::copysign(std::nanf(""), i % 3 == 0 ? -1.0f : 1.0f);
  }
  for_each_instruction_set([&](const SimdKernels& kernels) {
    const auto logits = elements<float>(run(kernels, random_parameters(), request_of(kPixels), input.data()));
    for (size_t i = 0; i < logits.size(); ++i) {
      ASSERT_TRUE(std::isnan(logits[i])) << "pixel " << i / kClasses << " logit " << i % kClasses;
    }
  });
}

TEST(FusedCpu, ANanAmongTheWeightsReachesTheLogitsItHasAPartIn) {
  for (const auto& [name, shared] : random_parameters().tensors) {
    for (const bool first : {true, false}) {
      Safetensors parameters = random_lenet5_parameters();
      parameters.tensors[name].data()[first ? 0 : shared.shape().num_elements() - 1] = NAN;
      const bool last_layer = name.rfind("fc3", 0) == 0;
      SCOPED_TRACE(concat(name, first ? ", its first element" : ", its last element"));
      for_each_instruction_set([&](const SimdKernels& kernels) {
        for (const ElementType input : kInputs) {
          const auto logits =
              elements<float>(run(kernels, parameters, request_of(3, input), pixels_of(input)));
          for (size_t i = 0; i < logits.size(); ++i) {
            const bool reached = !last_layer || i % kClasses == (first ? 0 : kClasses - 1);
            ASSERT_EQ(std::isnan(logits[i]), reached) << "logit " << i % kClasses;
          }
          const auto predictions = elements<Prediction>(
              run(kernels, parameters, request_of(3, input, kPrediction), pixels_of(input)));
          for (const Prediction& prediction : predictions) ASSERT_TRUE(std::isnan(prediction.probability));
        }
      });
    }
  }
}

TEST(FusedCpu, RunningAllocatesNothing) {
  Stream stream(Device::cpu());
  const auto batch = static_cast<int64_t>(kImages);
  std::vector<Prediction> output(kImages);
  const TensorView out{reinterpret_cast<float*>(output.data()), {batch}, Device::cpu(), kPrediction};
  for_each_instruction_set([&](const SimdKernels& kernels) {
    for (const ElementType input : {ElementType::kUint8, ElementType::kUint4}) {
      const std::vector<ConstTensorView> inputs = {
          {static_cast<const float*>(pixels_of(input)), {batch, 1, 28, 28}, Device::cpu(), input}};
      const std::unique_ptr<Operator> op = make_simd_operator(lenet5_parameters(random_parameters()),
                                                              request_of(batch, input, kPrediction), kernels);
      RunContext context{stream};
      op->run(inputs, out, context);  // starts the threads
      const AllocationCounter counter;
      op->run(inputs, out, context);
      EXPECT_EQ(counter.allocations(), 0) << to_string(input);
    }
  });
}

}  // namespace
}  // namespace lenslet
