// Verifies every backend of the whole-network LeNet-5 on the kind of device that this program was compiled for: each
// supported math mode, input and output, batches around every tile, trained and random parameters.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>

#include "framework/execution/executable.h"
#include "layers/softmax/softmax_error.h"
#include "models/prediction.h"
#include "tests/lenet/fused_fixture.h"
#include "tests/lenet/fused_reference.h"
#include "tests/lenet/lenet_fixture.h"
#include "tests/lenet/quantised_reference.h"
#include "tests/support/expect_error.h"
#include "tests/support/host_values.h"
#include "tests/support/test_names.h"

namespace lenslet {
namespace {

constexpr double kMaxDigitsOff = 3;

const std::vector<int64_t>& batches() {
  static const std::vector<int64_t> all = {1,  2,  3,  4,  5,  7,   8,   9,   15,  16,  17,  31,   32,  33,
                                           63, 64, 65, 96, 97, 127, 128, 129, 257, 400, 700, 1000, 5003};
  return all;
}

TEST_F(Fused, EveryMathModeIsOffered) {
  for (const MathMode math : kMathModes) {
    if (!kDevice.is_cuda() && math != MathMode::kFp32) continue;  // the CPU computes only in fp32
    for (const ElementType input : {ElementType::kFp32, ElementType::kUint8, ElementType::kUint4}) {
      for (const ElementType output : {ElementType::kFp32, kPrediction}) {
        for (const int64_t batch : {1, 64, 100000})
          EXPECT_EQ(trained().network->preferred_entry(
                        trained().model->network_request(kDevice, batch, math, input, output)) != nullptr,
                    math != MathMode::kInt8 || input != ElementType::kFp32)
              << to_string(math);
      }
    }
  }
}

TEST_F(Fused, LogitsAgreeWithTheJudge) {
  for (const JudgedLenet5* net : {&trained(), &untrained()}) {
    std::map<std::string, double> worst;
    for (const int64_t batch : batches()) {
      for_each_offer(*net, batch, ElementType::kFp32,
                     [&](const std::string& backend, const OperatorRequest& request) {
                       double& known = worst[backend + "_" + to_string(request.math)];
                       known = std::max(known, judge_logits(*net, backend, request));
                     });
    }
    for (const auto& [name, error] : worst) {
      RecordProperty((net == &trained() ? "trained_" : "untrained_") + name,
                     std::to_string(error * 1e9) + "e-9");
    }
  }
}

// Fully connected layers that hand ten values of h2 on show what conv2 wrote, bit for bit; all values in turns.
TEST_F(Fused, Int8ConvolvesExactly) {
  if (!kDevice.is_cuda()) GTEST_SKIP() << "the CPU computes only in fp32";
  constexpr int64_t kValues = 256, kAtOnce = 10;
  for (const bool is_trained : {true, false}) {
    Safetensors parameters = is_trained ? builtin_lenet5_weights() : random_lenet5_parameters();
    const QuantisedConvolutions convolutions = quantise_convolutions(lenet5_parameters(parameters));
    JudgedLenet5 net = trained();
    std::vector<std::array<float, kValues>> expected;
    for (int64_t i = 0; i < kImages; ++i)
      expected.push_back(quantised_h2(convolutions, net.pixels.data() + i * kPixels));
    for (int64_t first = 0; first < kValues; first += kAtOnce) {
      for (const char* const name : {"fc1", "fc2", "fc3"}) {
        const std::string layer = name;
        Tensor& weight = parameters.tensors.at(layer + ".weight");
        Tensor& bias = parameters.tensors.at(layer + ".bias");
        const int64_t inputs = weight.shape()[1], from = layer == "fc1" ? first : 0;
        std::fill(weight.data(), weight.data() + weight.shape().num_elements(), 0.0f);
        std::fill(bias.data(), bias.data() + bias.shape().num_elements(), 0.0f);
        for (int64_t k = 0; k < kAtOnce && from + k < inputs; ++k) weight.data()[k * inputs + from + k] = 1;
      }
      net.model = std::make_shared<Graph>(make_lenet5(parameters, "the test"));
      net.network = {net.model, net.model->network()};
      const OperatorRequest request =
          net.model->network_request(kDevice, kImages, MathMode::kInt8, ElementType::kUint8);
      if (const Support support = net.network->supports("mma", request); !support) {
        ASSERT_FALSE(gpu_has_clusters()) << support.reason();
        GTEST_SKIP() << support.reason();
      }
      const std::vector<float> logits = as_logits(run_batch(net, "mma", request, 0));
      for (int64_t i = 0; i < kImages; ++i) {
        for (int64_t k = 0; k < kAtOnce && first + k < kValues; ++k) {
          ASSERT_EQ(logits[static_cast<size_t>(i * 10 + k)],
                    expected[static_cast<size_t>(i)][static_cast<size_t>(first + k)])
              << "image " << i << " value " << first + k;
        }
      }
    }
  }
}

// A backend that computes in several math modes does not ignore the mode.
TEST_F(Fused, AMathModeRounds) {
  int compared = 0;
  for_each_offer(
      trained(), 3, ElementType::kFp32, [&](const std::string& backend, const OperatorRequest& request) {
        OperatorRequest exact = request;
        exact.math = MathMode::kFp32;
        if (request.math == MathMode::kFp32 || !trained().network->supports(backend, exact)) return;
        EXPECT_NE(run_batch(trained(), backend, request, 0), run_batch(trained(), backend, exact, 0));
        ++compared;
      });
  if (compared == 0 && kDevice.is_cuda() && !gpu_has_clusters())
    GTEST_SKIP() << "the backends that compute in several math modes need clusters of blocks";
  EXPECT_EQ(compared > 0, kDevice.is_cuda());
}

// An image gives the same bits at every place of a batch, with any other images beside it.
TEST_F(Fused, ThePositionInABatchDoesNotMatter) {
  for (const int64_t batch : {3, 64, 129}) {
    for_each_offer(
        trained(), batch, ElementType::kFp32,
        [&](const std::string& backend, const OperatorRequest& request) {
          const std::vector<float> at_start = as_logits(run_batch(trained(), backend, request, 0));
          const std::vector<float> moved = as_logits(run_batch(trained(), backend, request, 1));
          for (int64_t i = 0; i + 1 < std::min(batch, kImages); ++i) {
            EXPECT_EQ(std::memcmp(at_start.data() + (i + 1) * 10, moved.data() + i * 10, 10 * sizeof(float)),
                      0)
                << "image " << i + 1;
          }
        });
  }
}

// A backend that promises the same bits at every batch size keeps them however many images a block computes at once,
// and in its next turn.
TEST_F(Fused, TheNumberOfImagesAtOnceDoesNotMatter) {
  const int64_t blocks = kDevice.is_cuda() ? cuda_status().devices[0].multiprocessors : 1;
  std::map<std::string, std::vector<uint8_t>> known;
  for (int64_t images = 1; images <= 11; ++images) {
    const int64_t batch = std::max(kImages + images, images * blocks);
    for_each_offer(trained(), batch, ElementType::kFp32,
                   [&](const std::string& backend, const OperatorRequest& request) {
                     if (trained().network->determinism(backend, request) < Determinism::kPosition) return;
                     std::vector<uint8_t> logits = run_repeated(trained(), backend, request);
                     logits.resize(static_cast<size_t>(kImages) * 10 * sizeof(float));
                     const std::string name =
                         concat(backend, " ", to_string(request.math), " ", to_string(request.input_type));
                     EXPECT_TRUE(known.try_emplace(name, logits).first->second == logits)
                         << images << " images for each block";
                   });
  }
  EXPECT_FALSE(known.empty());
}

class FusedBatch : public Fused, public testing::WithParamInterface<int64_t> {};

TEST_P(FusedBatch, PredictionsAreTheLogitsOwn) {
  for_each_offer(trained(), GetParam(), kPrediction,
                 [](const std::string& backend, const OperatorRequest& request) {
                   judge_predictions(trained(), backend, request);
                 });
}

INSTANTIATE_TEST_SUITE_P(Batches, FusedBatch, testing::ValuesIn(batches()),
                         [](const auto& instance) { return std::to_string(instance.param); });

// A variant of a backend's kernel, and images for each multiprocessor with which it is taken and one round is full.
struct Turn {
  const char *name, *backend;
  MathMode math;
  int64_t images;
};

const std::vector<Turn>& turns() {
  static const std::vector<Turn> gpu = {
      {"fp32", "fp32", MathMode::kFp32, 96},
      {"medium_fp32", "medium", MathMode::kFp32, 10},
      {"medium_few", "medium", MathMode::kFp32, 2},
      {"medium_tf32", "medium", MathMode::kTf32, 10},
      {"mma_tf32", "mma", MathMode::kTf32, 96},
      {"mma_fp16", "mma", MathMode::kFp16, 96},         // 12 warps of 8
      {"mma_fp16_pairs", "mma", MathMode::kFp16, 384},  // beyond three rounds of 8 warps of 16
      {"mma_int8", "mma", MathMode::kInt8, 128},        // 8 warps of 16
      {"small_fp32", "small", MathMode::kFp32, 2},
      {"small_tf32", "small", MathMode::kTf32, 2},
      {"small_fp16", "small", MathMode::kFp16, 2}};
  static const std::vector<Turn> cpu = {{"simd", "simd", MathMode::kFp32, 96}};
  return kDevice.is_cuda() ? gpu : cpu;
}

class FusedTurns : public Fused, public testing::WithParamInterface<Turn> {};

// Batches that give every block of every kernel a second round, with a tail. A round must not read shared memory that
// the round before wrote, and must not overwrite it while other threads read it; racecheck detects a missing barrier
// here.
TEST_P(FusedTurns, BlocksTakeSeveralTurns) {
  const Turn& turn = GetParam();
  const int64_t blocks = kDevice.is_cuda() ? cuda_status().devices[0].multiprocessors : 1;
  const int64_t batch = blocks * turn.images + 5;
  const Support support = trained().network->supports(
      turn.backend, trained().model->network_request(kDevice, batch, turn.math, ElementType::kUint8));
  // An older GPU than those that have all that the backends need. On these a refusal is a failure.
  if (!support && kDevice.is_cuda() && !gpu_has_clusters()) GTEST_SKIP() << support.reason();
  int judged = 0;
  for_each_offer(
      trained(), batch, ElementType::kFp32, [&](const std::string& backend, const OperatorRequest& offered) {
        if (offered.input_type != ElementType::kUint8 || backend != turn.backend || offered.math != turn.math)
          return;
        judge_logits(trained(), backend, offered);
        ++judged;
      });
  EXPECT_EQ(judged, 1);
}

INSTANTIATE_TEST_SUITE_P(Kernels, FusedTurns, testing::ValuesIn(turns()), ByName());

TEST_F(Fused, EveryKernelTakesSeveralTurns) {
  for_each_offer(trained(), 300, ElementType::kFp32,
                 [](const std::string& backend, const OperatorRequest& offered) {
                   EXPECT_TRUE(std::any_of(turns().begin(), turns().end(), [&](const Turn& turn) {
                     return backend == turn.backend && offered.math == turn.math;
                   })) << "no row of turns()";
                 });
}

// More images than a backend processes in one chunk, and more pixels than a signed 32-bit index can count.
TEST_F(Fused, LargeBatchesRepeatEveryImage) {
  if (!kDevice.is_cuda()) GTEST_SKIP() << "the CPU takes image by image";
  constexpr int64_t kChunks = 2 * 131072 + 137, kPast2To31 = 2800003;  // the chunks of backend fp32
  static_assert(kPast2To31 * kPixels > int64_t{1} << 31);
  for (const int64_t batch : {kChunks, kPast2To31}) {
    for_each_offer(trained(), batch, ElementType::kFp32,
                   [&](const std::string& backend, const OperatorRequest& request) {
                     const std::vector<float> logits = as_logits(run_repeated(trained(), backend, request));
                     judge_first_logits(trained(), backend, request, logits);
                   });
    for_each_offer(trained(), batch, kPrediction,
                   [&](const std::string& backend, const OperatorRequest& request) {
                     if (request.input_type == ElementType::kUint8) run_repeated(trained(), backend, request);
                   });
  }
}

// Zero weights in fc3 make every logit exactly its bias, in any arithmetic: ties that no rounding breaks.
TEST_F(Fused, TheLowestOfEqualClassesWins) {
  struct Tie {
    std::array<float, 10> bias;
    int32_t label;
  };
  const Tie ties[] = {{{1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 0},
                      {{0, 0, 3, 0, 0, 3, 0, 0, 0, 3}, 2},
                      {{0, -1, 2, 1, 0, 1, 0, 1, 4, 4}, 8},
                      {{-7, -2, -5, -2, -9, -2, -3, -4, -5, -6}, 1},
                      {{-1, -0.0f, 0, -0.0f, 0, -2, 0, -1, -1, 0}, 1}};
  for (const Tie& tie : ties) {
    Safetensors parameters = random_lenet5_parameters();
    Tensor& weights = parameters.tensors.at("fc3.weight");
    std::fill(weights.data(), weights.data() + weights.shape().num_elements(), 0.0f);
    std::copy(tie.bias.begin(), tie.bias.end(), parameters.tensors.at("fc3.bias").data());
    const JudgedLenet5 net(parameters);
    double sum = 0;
    for (const float logit : tie.bias)
      sum += std::exp(double{logit} - double{tie.bias[static_cast<size_t>(tie.label)]});
    for (const int64_t batch : {1, 19, 67}) {
      for_each_offer(net, batch, kPrediction,
                     [&](const std::string& backend, const OperatorRequest& request) {
                       const std::vector<uint8_t> bytes = run_batch(net, backend, request, 0);
                       for (size_t i = 0; i < static_cast<size_t>(batch); ++i) {
                         Prediction prediction;
                         std::memcpy(&prediction, bytes.data() + i * sizeof prediction, sizeof prediction);
                         ASSERT_EQ(prediction.label, tie.label) << "image " << i;
                         ASSERT_NEAR(prediction.probability, 1 / sum, kSoftmaxError) << "image " << i;
                       }
                     });
    }
  }
}

// A NaN pixel must affect the answer of its own image, and of no other.
TEST_F(Fused, NanStaysVisible) {
  std::vector<float> images = trained().normalised;
  images[static_cast<size_t>(5 * kPixels + 14 * 28 + 14)] = NAN;
  for (const ElementType output : {ElementType::kFp32, kPrediction}) {
    for_each_offer(trained(), 9, output, [&](const std::string& backend, const OperatorRequest& request) {
      if (request.input_type != ElementType::kFp32) return;  // pixels have none
      const std::vector<uint8_t> bytes = run_batch(trained(), backend, request, 0, &images);
      const size_t row = bytes.size() / 9;
      for (size_t i = 0; i < 9; ++i) {
        bool nan = false;
        if (output == kPrediction) {
          Prediction prediction;
          std::memcpy(&prediction, bytes.data() + i * row, sizeof prediction);
          nan = std::isnan(prediction.probability);
        } else {
          const std::vector<float> logits =
              as_logits({bytes.begin() + static_cast<std::ptrdiff_t>(i * row),
                         bytes.begin() + static_cast<std::ptrdiff_t>((i + 1) * row)});
          nan = std::any_of(logits.begin(), logits.end(), [](float v) { return std::isnan(v); });
        }
        EXPECT_EQ(nan, i == 5) << "image " << i;
      }
    });
  }
}

TEST_F(Fused, ReadsTheMnistTestSetAsPyTorchDoes) {
  LENSLET_SKIP_WITHOUT_MNIST();
  const ImageDataset data = read_image_dataset(mnist_folder(), "t10k", 28, 28);
  std::string digits;
  std::ifstream(std::string(LENSLET_SOURCE_DIR) + "/weights/golden/mnist_test_predictions.txt") >> digits;
  ASSERT_EQ(static_cast<int64_t>(digits.size()), data.count);
  int64_t right = 0;
  for (int64_t i = 0; i < data.count; ++i)
    right += digits[static_cast<size_t>(i)] - '0' == data.labels[static_cast<size_t>(i)];
  for_each_offer(
      trained(), data.count, kPrediction, [&](const std::string& backend, const OperatorRequest& offered) {
        BuildOptions options = options_on(kDevice, data.count, Plan::kFused);
        options.math = offered.math;
        options.backends = BackendSpec::parse(backend);
        options.input = offered.input_type;
        options.output = offered.output_type;
        Executable executable(lenet5(), options);
        std::vector<float> source(static_cast<size_t>(data.count * kPixels));  // room for any type
        convert_pixels(ElementType::kUint8, data.images.data(), data.count * kPixels,
                       lenet5().normalisation(), offered.input_type, source.data());
        copy_bytes(executable.input().data, kDevice, source.data(), Device::cpu(), executable.input().bytes(),
                   executable.stream());
        executable.run();
        const auto read = host_values<Prediction>(executable.output(), executable.stream());
        ASSERT_EQ(read.size(), digits.size());
        int64_t correct = 0, differ = 0;
        for (size_t i = 0; i < read.size(); ++i) {
          correct += read[i].label == data.labels[i];
          differ += read[i].label != digits[i] - '0';
        }
        if (offered.math == MathMode::kFp32 && offered.input_type != ElementType::kUint4) {
          EXPECT_EQ(differ, 0) << "predictions unlike PyTorch's";
        }
        EXPECT_LE(std::abs(static_cast<double>(correct - right)), kMaxDigitsOff);
        if (offered.math == MathMode::kInt8 && offered.input_type == ElementType::kUint8) {
          EXPECT_LE(differ, kMaxDigitsOff) << "predictions unlike PyTorch's";
        }
        RecordProperty(backend + "_" + to_string(offered.math) + "_" + to_string(offered.input_type),
                       std::to_string(correct));
      });
}

TEST_F(Fused, APlanReplaysTheBackend) {
  BuildOptions options = options_on(kDevice, 12, Plan::kFused);
  options.input = ElementType::kUint8;
  options.output = kPrediction;
  const Executable first(lenet5(), options);
  const Plan saved = Plan::from_json(first.plan().to_json(), "plan.json", {kPrediction});
  BuildOptions replay = options_on(kDevice, 12);
  replay.plan = &saved;
  Executable again(lenet5(), replay);
  EXPECT_EQ(again.plan().to_json(), first.plan().to_json());
  EXPECT_EQ(again.steps().at(0).backend, first.steps().at(0).backend);
  EXPECT_EQ(again.input().type, ElementType::kUint8);
  EXPECT_EQ(again.output().type, kPrediction);
}

TEST_F(Fused, RefusesWhatItCannotDo) {
  BuildOptions options = options_on(kDevice, 1, Plan::kFused);
  options.backends = BackendSpec::parse("direct");
  expect_error<UsageError>([&] { Executable(lenet5(), options); }, "no backend 'direct' for layer lenet5");
  options.backends = {};
  options.keep_activations = true;
  Executable whole(lenet5(), options);
  expect_error<UsageError>([&] { whole.activation("conv1"); }, "no layer 'conv1'; there are: input, lenet5");
  options = options_on(kDevice, 1);
  options.input = ElementType::kUint8;
  expect_error<UnavailableError>(
      [&] { Executable(lenet5(), options); },
      "reads and writes fp32, not uint8 in and fp32 out; use the whole-network plan");
  Graph other("other", "input", {1, 28, 28});
  options = options_on(kDevice, 1, Plan::kFused);
  expect_error<UnavailableError>([&] { Executable(other, options); },
                                 "the model other has no whole-network plan");
}

// Input and output in host memory that the device addresses: the same bits without a copy.
TEST_F(Fused, MappedMemoryGivesTheSameBits) {
  BuildOptions options = options_on(kDevice, 7, Plan::kFused);
  options.mapped_io = true;
  if (!kDevice.is_cuda()) {
    expect_error<UsageError>([&] { Executable(lenet5(), options); }, "mapped_io needs a CUDA device");
    return;
  }
  const size_t bytes = 7 * kPixels * sizeof(float);
  Executable mapped(lenet5(), options);
  std::memcpy(mapped.input().data, trained().normalised.data(), bytes);
  mapped.run();
  mapped.stream().synchronise();
  options.mapped_io = false;
  Executable copied(lenet5(), options);
  copy_bytes(copied.input().data, kDevice, trained().normalised.data(), Device::cpu(), bytes,
             copied.stream());
  copied.run();
  EXPECT_TRUE(same_bits(host_values(mapped.output(), mapped.stream()),
                        host_values(copied.output(), copied.stream())));
}

}  // namespace
}  // namespace lenslet
