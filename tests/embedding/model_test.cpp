// Model: equal answers for every kind of input and output, refusals, and descriptions.
#include "api/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "models/classifier.h"
#include "tests/embedding/model_options.h"
#include "tests/embedding/normalised_weights.h"
#include "tests/embedding/pictures.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"
#include "tests/support/logit_tolerances.h"

namespace lenslet {
namespace {

using test::kPixels;
using test::on_cpu;
using test::pictures;

// Every way to compute on the CPU: a plan and a backend.
std::vector<std::pair<std::string, std::string>> ways() {
  std::vector<std::pair<std::string, std::string>> all = {{"auto", ""}, {"fused", "simd"}, {"layered", ""}};
  for (const std::string& backend : test::conv_backends()) all.push_back({"layered", backend});
  return all;
}

std::string temporary_plan(const std::string& json) {
  return test::temporary_file("embedding_plan.json", json);
}

TEST(Model, ReadsTheSamplesByEveryWay) {
  const auto all = ways();
  EXPECT_GE(all.size(), 5u);
  std::vector<float> expected;
  for (const auto& [plan, backend] : all) {
    SCOPED_TRACE(plan + " " + backend);
    Model model = Model::built_in(on_cpu(plan, backend));
    const int64_t count = pictures().count();
    std::vector<Prediction> of_bytes(20), of_floats(20);
    std::vector<float> bytes_logits(200), floats_logits(200);
    model.predict(pictures().pixels.data(), count, of_bytes.data());
    model.predict(pictures().images.data(), count, of_floats.data());
    model.logits(pictures().pixels.data(), count, bytes_logits.data());
    model.logits(pictures().images.data(), count, floats_logits.data());
    if (expected.empty()) expected = floats_logits;
    for (size_t i = 0; i < 20; ++i) {
      EXPECT_EQ(of_bytes[i].label, pictures().digits[i]);
      EXPECT_EQ(of_floats[i].label, pictures().digits[i]);
      double probabilities[kLenet5Classes];
      softmax(floats_logits.data() + i * 10, kLenet5Classes, probabilities);
      EXPECT_NEAR(of_bytes[i].probability, probabilities[of_bytes[i].label], test::kProbabilityTolerance);
      EXPECT_NEAR(of_floats[i].probability, probabilities[of_floats[i].label], test::kProbabilityTolerance);
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(bytes_logits[i], expected[i], test::kLogitTolerance) << i;
      EXPECT_NEAR(floats_logits[i], expected[i], test::kLogitTolerance) << i;
    }
  }
}

void expect_near(const std::vector<float>& found, const std::vector<float>& expected, double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}

// Packed pixels have the answers of their greys, to the bit: whichever plan unpacks or normalises them, in calls of odd
// numbers of images, and in calls of several passes with a tail. oneDNN chooses by timing each time it is prepared, so
// its bits may differ (docs/architecture.md, Determinism).
TEST(Model, PackedPixelsAreReadAsTheirGreys) {
  for (const auto& [plan, backend] : ways()) {
    SCOPED_TRACE(plan + " " + backend);
    ModelOptions options = on_cpu(plan, backend);
    options.max_batch = 7;
    const double tolerance = backend == "onednn" ? test::kLogitTolerance : 0;
    Model model = Model::built_in(options);
    std::vector<float> exact(200), again(200);
    model.logits(pictures().pixels.data(), 20, exact.data());
    for (const int64_t count : {1, 3, 7, 13, 20}) {
      SCOPED_TRACE(count);
      const auto size = static_cast<size_t>(count);
      std::vector<Prediction> expected(size), found(size);
      std::vector<float> expected_logits(size * 10), logits(size * 10, -1);
      std::vector<int32_t> labels(size, -1);
      std::vector<float> probabilities(size, -1);
      model.predict(pictures().greys.data(), count, expected.data());
      model.logits(pictures().greys.data(), count, expected_logits.data());
      model.predict(pictures().pairs.data(), count, found.data());
      model.predict(pictures().pairs.data(), count, PredictionArrays{labels.data(), probabilities.data()});
      model.logits(pictures().pairs.data(), count, logits.data());
      expect_near(logits, expected_logits, tolerance);
      for (size_t i = 0; i < size; ++i) {
        EXPECT_EQ(found[i].label, pictures().digits[i]);
        EXPECT_EQ(found[i].label, expected[i].label);
        EXPECT_NEAR(found[i].probability, expected[i].probability, tolerance);
        EXPECT_EQ(labels[i], expected[i].label);
        EXPECT_NEAR(probabilities[i], expected[i].probability, tolerance);
      }
    }
    Model other = Model::built_in(options);
    other.logits(pictures().pairs.data(), 20, again.data());
    other.logits(pictures().pixels.data(), 20, again.data());
    SCOPED_TRACE("bytes after a call with packed pixels");
    expect_near(again, exact, tolerance);
    model.predict(pictures().pairs.data(), 0, static_cast<Prediction*>(nullptr));
    expect_error<UsageError>(
        [&] { model.predict(static_cast<const PixelPair*>(nullptr), 1, static_cast<Prediction*>(nullptr)); },
        "the images must not be a null pointer");
    expect_error<UsageError>([&] { model.logits(pictures().pairs.data(), -1, nullptr); },
                             "the number of images must not be negative, found -1");
    expect_error<UsageError>([&] { model.logits(pictures().pairs.data(), INT64_MAX, nullptr); },
                             "as images or answers take 392 bytes each, found 9223372036854775807");
  }
}

// A saved plan reads one type: packed pixels are unpacked for one of bytes, bytes are packed for one of packed pixels.
TEST(Model, APlanOfAnotherPixelTypeConvertsThem) {
  std::vector<float> expected(200), exact(200), found(200, -1);
  Model model = Model::built_in(on_cpu("fused"));
  model.logits(pictures().greys.data(), 20, expected.data());
  model.logits(pictures().pixels.data(), 20, exact.data());
  ASSERT_NE(expected, exact) << "the pictures have only greys";
  Plan plan = model.plan(20);
  for (const ElementType input : {ElementType::kUint8, ElementType::kUint4, ElementType::kFp32}) {
    SCOPED_TRACE(to_string(input));
    plan.input = input;
    plan.output = ElementType::kFp32;
    Model replaying = Model::built_in(on_cpu(temporary_plan(plan.to_json())));
    replaying.logits(pictures().pairs.data(), 20, found.data());
    for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], test::kLogitTolerance) << i;
    replaying.logits(pictures().pixels.data(), 20, found.data());
    const std::vector<float>& of_pixels = input == ElementType::kUint4 ? expected : exact;
    for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], of_pixels[i], test::kLogitTolerance) << i;
    if (input == ElementType::kFp32) continue;
    expect_error<DataError>([&] { replaying.logits(pictures().images.data(), 20, found.data()); },
                            std::string("the plan reads ") + to_string(input));
  }
}

TEST(Model, LoadsWeightsOfAFile) {
  Model built_in = Model::built_in(on_cpu());
  Model loaded = Model::load(LENSLET_SOURCE_DIR "/weights/lenet5.safetensors", on_cpu());
  std::vector<float> a(200), b(200, -1);
  built_in.logits(pictures().pixels.data(), 20, a.data());
  loaded.logits(pictures().pixels.data(), 20, b.data());
  EXPECT_EQ(a, b);
  expect_error<DataError>([] { Model::load(LENSLET_SOURCE_DIR "/LICENSE", on_cpu()); }, "LICENSE");
  expect_error<DataError>([] { Model::load("/no/such/file", on_cpu()); }, "/no/such/file");
  expect_error<UsageError>([] { Model::load("", on_cpu()); }, "empty");
}

// Zero weights make all logits zero, and every way answers with the first of the equal classes.
TEST(Model, TheFirstOfEqualClassesIsTheAnswer) {
  std::string bytes = test::read_text(LENSLET_SOURCE_DIR "/weights/lenet5.safetensors");
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(sizeof header + header), bytes.end(), '\0');
  const std::string path = test::temporary_file("zeros.safetensors", bytes);
  for (const auto& [plan, backend] : ways()) {
    Model model = Model::load(path, on_cpu(plan, backend));
    std::vector<Prediction> predictions(20, Prediction{7, 0});
    model.predict(pictures().pixels.data(), 20, predictions.data());
    for (const Prediction& prediction : predictions) {
      EXPECT_EQ(prediction.label, 0) << plan << " " << backend;
      EXPECT_NEAR(prediction.probability, 0.1, kSoftmaxError) << plan << " " << backend;
    }
  }
}

TEST(Model, NormalisesAsTheWeightsFileStates) {
  const int64_t count = pictures().count();
  std::vector<float> expected(200), logits(200);
  Model::built_in(on_cpu()).logits(pictures().pixels.data(), count, expected.data());
  for (const auto& stated : test::stated_normalisations()) {
    const std::string path = test::write_weights(stated);
    const std::vector<float> manual = test::normalised(pictures().pixels, stated.normalisation);
    for (const auto& [plan, backend] : ways()) {
      SCOPED_TRACE(std::string("mean ") + stated.mean + ", std " + stated.std + ", " + plan + " " + backend);
      Model model = Model::load(path, on_cpu(plan, backend));
      EXPECT_EQ(model.normalisation().mean(), stated.normalisation.mean());
      EXPECT_EQ(model.normalisation().std(), stated.normalisation.std());
      std::vector<Prediction> of_bytes(20), of_floats(20);
      model.predict(pictures().pixels.data(), count, of_bytes.data());
      model.predict(manual.data(), count, of_floats.data());
      for (size_t i = 0; i < 20; ++i) {
        EXPECT_EQ(of_bytes[i].label, pictures().digits[i]);
        EXPECT_EQ(of_floats[i].label, of_bytes[i].label);
        EXPECT_NEAR(of_floats[i].probability, of_bytes[i].probability, test::kProbabilityTolerance);
      }
      model.logits(pictures().pixels.data(), count, logits.data());
      for (size_t i = 0; i < 200; ++i)
        ASSERT_NEAR(logits[i], expected[i], test::kLogitTolerance) << "bytes, " << i;
      model.logits(manual.data(), count, logits.data());
      for (size_t i = 0; i < 200; ++i)
        ASSERT_NEAR(logits[i], expected[i], test::kLogitTolerance) << "floats, " << i;
    }
  }
}

TEST(Model, HasTheThresholdOfTheWeightsFile) {
  const auto threshold = [](const std::string& metadata) {
    Model model = Model::load(test::write_weights(metadata, {kMnistMean, kMnistStd}), on_cpu());
    EXPECT_TRUE(std::isnan(model.energy_threshold()) ==
                std::isnan(model.with_options(on_cpu()).energy_threshold()));
    return model.energy_threshold();
  };
  EXPECT_EQ(threshold("\"energy_threshold\":\"2.5\""), 2.5);
  EXPECT_TRUE(std::isnan(threshold("\"model\":\"lenet5\"")));
}

TEST(Model, RefusesMetadataThatItCannotObey) {
  const Normalisation plain(0, 1);
  const auto refused = [&](const std::string& metadata, const std::string& fragment) {
    const std::string path = test::write_weights(metadata, plain);
    expect_error<DataError>([&] { Model::load(path, on_cpu()); }, fragment, path);
  };
  refused("\"model\":\"resnet\\u001b[2J\"", "model \"resnet\\x1b[2J\", expected \"lenet5\" or none");
  refused("\"mean\":\"0.5\"", "mean without std");
  refused("\"std\":\"0.5\"", "std without mean");
  refused("\"temperature\":\"2\"", "temperature \"2\", expected 1 or none");
  refused("\"energy_threshold\":\"x\"", "energy_threshold \"x\", expected a decimal number");
  for (const char* number :
       {"", "zero", "0,5", " 0.5", "0.5 ", "0x1", "nan", "inf", "-0.1", "1.5", "1e999"}) {
    SCOPED_TRACE(number);
    refused(test::metadata_of(number, "1"),
            std::string("mean \"") + number + "\", expected a decimal number");
  }
  for (const char* number : {"0", "-1", "1e-9", "11", "nan", "[0.5]"}) {
    SCOPED_TRACE(number);
    refused(test::metadata_of("0", number), std::string("std \"") + number + "\", expected a decimal number");
  }
  Model none = Model::load(test::write_weights("\"format\":\"pt\"", {kMnistMean, kMnistStd}), on_cpu());
  EXPECT_EQ(none.normalisation().mean(), kMnistMean);
}

TEST(Model, MarksANaNInItsOwnPictureAlone) {
  for (const auto& [plan, backend] : ways()) {
    SCOPED_TRACE(plan + " " + backend);
    Model model = Model::built_in(on_cpu(plan, backend));
    std::vector<float> images = pictures().images;
    images[3 * kPixels + 300] = NAN;
    std::vector<Prediction> predictions(20);
    model.predict(images.data(), 20, predictions.data());
    for (size_t i = 0; i < 20; ++i) EXPECT_EQ(std::isnan(predictions[i].probability), i == 3) << i;
  }
}

TEST(Model, RefusesNullPointersAndBadCounts) {
  Model model = Model::built_in(on_cpu());
  Prediction prediction;
  const uint8_t* const no_bytes = nullptr;
  expect_error<UsageError>([&] { model.predict(no_bytes, 1, &prediction); }, "images must not be");
  expect_error<UsageError>([&] { model.predict(pictures().pixels.data(), 1, nullptr); }, "must not be");
  expect_error<UsageError>([&] { model.predict(pictures().pixels.data(), -1, &prediction); }, "-1");
  model.predict(no_bytes, 0, nullptr);
  expect_error<UsageError>([&] { model.plan(0); }, "batch");
  expect_error<UsageError>([&] { model.profile(1, NAN); }, "min_time_ms");
  expect_error<UsageError>([&] { model.backends((1 << 20) + 1); }, "batch");
}

TEST(Model, RefusesOptionsWhenItIsMade) {
  ModelOptions options = on_cpu();
  options.math = "tf32";
  expect_error<UnavailableError>([&] { Model::built_in(options); }, "tf32");
  options = on_cpu("fused", "sim");
  expect_error<UsageError>([&] { Model::built_in(options); }, "did you mean 'simd'?");
  options = on_cpu("layered", "conv1=nothing");
  expect_error<UsageError>([&] { Model::built_in(options); }, "nothing");
  options = on_cpu("sideways");
  expect_error<UsageError>([&] { Model::built_in(options); }, "plan expects");
}

TEST(Model, ReplaysPlans) {
  const std::string saved = Model::built_in(on_cpu("layered", "conv1=im2col_gemm")).plan(20).to_json();
  Model layered = Model::built_in(on_cpu(temporary_plan(saved)));
  EXPECT_EQ(layered.plan(20).find("conv1")->backend, "im2col_gemm");
  std::vector<float> logits(200);
  layered.logits(pictures().pixels.data(), 20, logits.data());

  // A pass that reads bytes and writes predictions gives no logits and accepts no floats.
  Model fused = Model::built_in(on_cpu(temporary_plan(Model::built_in(on_cpu()).plan(20).to_json())));
  std::vector<Prediction> predictions(20);
  fused.predict(pictures().pixels.data(), 20, predictions.data());
  EXPECT_EQ(predictions[19].label, 9);
  expect_error<DataError>([&] { fused.logits(pictures().pixels.data(), 20, logits.data()); },
                          "expects logits");
  expect_error<DataError>([&] { fused.predict(pictures().images.data(), 20, predictions.data()); },
                          "passes fp32");
  ModelOptions both = on_cpu(temporary_plan(saved), "direct");
  expect_error<UsageError>([&] { Model::built_in(both); }, "leave out backend");
}

TEST(Model, ReportsItsTimesAndBackends) {
  Model fused = Model::built_in(on_cpu());
  EXPECT_EQ(fused.device(), Device::cpu());
  EXPECT_EQ(fused.device_name(), cpu_model());
  EXPECT_EQ(fused.plan(4).execution, Plan::kFused);
  const ModelProfile whole = Model::built_in(on_cpu("fused")).profile(4, 1);
  EXPECT_EQ(whole.plan, Plan::kFused);
  ASSERT_EQ(whole.layers.size(), 1u);
  EXPECT_EQ(whole.layers[0].backend, "simd");

  const ModelProfile layers = fused.profile(4, 1);  // "auto" explains the layers
  EXPECT_EQ(layers.plan, Plan::kLayered);
  EXPECT_EQ(layers.device, "cpu");
  EXPECT_EQ(layers.batch, 4);
  EXPECT_GT(layers.layers.size(), 4u);
  double sum = 0;
  for (const LayerTime& layer : layers.layers) {
    EXPECT_GT(layer.median_ns, 0) << layer.name;
    EXPECT_LE(layer.p10_ns, layer.p90_ns) << layer.name;
    sum += layer.median_ns;
  }
  // With a wide tolerance: the machine may be busy, and sanitizers slow down the code between the layers.
  EXPECT_GT(sum, layers.total_ns / 10);
  EXPECT_LT(sum, layers.total_ns * 10);
  EXPECT_EQ(layers.layers[0].name, "conv1");
  EXPECT_EQ(layers.layers[0].math, "fp32");

  // Two of the CPU's backends refuse LeNet-5 in fp32: its convolutions have one group, and 5x5 filters.
  std::vector<std::string> refused;
  for (const BackendChoice& choice : fused.backends(4)) {
    if (choice.reason.empty() || (choice.backend != "depthwise" && choice.backend != "winograd")) continue;
    refused.push_back(choice.layer + " " + choice.backend);
    const char* const reason = choice.backend == "depthwise" ? "supports one group" : "supports 3x3 filters";
    EXPECT_NE(choice.reason.find(reason), std::string::npos) << choice.reason;
  }
  EXPECT_EQ(refused, (std::vector<std::string>{"conv1 depthwise", "conv1 winograd", "conv2 depthwise",
                                               "conv2 winograd"}));
}

TEST(Model, MovesWithWhatItHolds) {
  Model model = Model::built_in(on_cpu());
  Model moved = std::move(model);
  Prediction prediction;
  moved.predict(pictures().pixels.data() + 4 * kPixels, 1, &prediction);
  EXPECT_EQ(prediction.label, 2);
  moved = Model::built_in(on_cpu("layered"));
  moved.predict(pictures().pixels.data() + 4 * kPixels, 1, &prediction);
  EXPECT_EQ(prediction.label, 2);
}

}  // namespace
}  // namespace lenslet
