// Networks that keep channels last, as Keras's do: pictures and arrays, digits, and what Keras itself computes.
#include <cmath>
#include <cstring>
#include <filesystem>

#include "framework/tensor/roundoff.h"
#include "tests/cli/fixtures/files.h"
#include "tests/models/onnx/onnx_writer.h"
#include "tests/support/npz_writer.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

const std::string kKeras = LENSLET_SOURCE_DIR "/tests/models/onnx/keras/";

// Networks whose logits are the means of their channels, first.onnx with channels first and last.onnx with channels
// last, and a picture whose pixels all differ.
class ChannelsLast : public testing::Test {
 protected:
  void SetUp() override {
    onnx::GraphParts parts = onnx::channel_means();
    write_file("{dir}/out/first.onnx", onnx::model_of(parts, 13).bytes());
    parts.inputs = {onnx::value("n", {-1, 2, 2, 3})};
    parts.nodes.insert(
        parts.nodes.begin(),
        onnx::node("Transpose", {"n"}, "x", {onnx::attribute("perm", std::vector<int64_t>{0, 3, 1, 2})}));
    for (const bool stated : {false, true}) {
      onnx::Message model = onnx::model_of(parts, 13);
      if (stated) {
        model.metadata("mean", "0.1,0.2,0.4");
        model.metadata("std", "0.25,0.5,2");
      }
      write_file(stated ? "{dir}/out/stated.onnx" : "{dir}/out/last.onnx", model.bytes());
    }
    std::string picture = "P6\n6 4\n255\n";
    for (int i = 0; i < 6 * 4 * 3; ++i) picture += static_cast<char>(i * 37 % 251);
    write_file("{dir}/out/mixed.ppm", picture);
  }
  static json top(const std::string& model, const std::string& options) {
    return parse_json(expect_run(run_line("lenslet classify --device cpu --json - --model {dir}/out/" +
                                          model + " {dir}/out/mixed.ppm " + options),
                                 kOk)
                          .out)
        .at("results")
        .at(0)
        .at("top");
  }
};

TEST_F(ChannelsLast, PicturesHaveTheSameAnswers) {
  const std::string scaled = "--mean 0.1,0.2,0.4 --std 0.25,0.5,2";
  for (const std::string& options :
       {std::string(), scaled, scaled + " --channels bgr", scaled + " --size 3", scaled + " --keep-aspect"})
    EXPECT_EQ(top("last.onnx", options), top("first.onnx", options)) << options;
  EXPECT_EQ(top("stated.onnx", ""), top("first.onnx", scaled));
  EXPECT_NE(top("last.onnx", scaled), top("last.onnx", scaled + " --channels bgr"));
  expect_run(lenslet("classify --model {dir}/out/last.onnx {dir}/out/mixed.ppm --mean 1,2"), kUsage, "",
             "one for each of the 3 channels");
}

TEST_F(ChannelsLast, PixelsOfArraysAreNormalisedByChannel) {
  const std::vector<uint8_t> pixels = {9, 20, 30, 40, 5,  60,
                                       7, 80, 90, 10, 11, 12};  // two rows of two RGB pixels
  const std::vector<int64_t> labels = {1};
  NpzWriter()
      .add("inputs.npy", npy("|u1", {1, 2, 2, 3}, pixels))
      .add("labels.npy", npy("<i8", {1}, labels))
      .write(expand("{dir}/out/pixels.npz"));
  expect_run(lenslet("eval --device cpu --model {dir}/out/stated.onnx --data {dir}/out/pixels.npz --logits "
                     "{dir}/out/pixels.f32"),
             kOk);
  const std::string bytes = read_text(expand("{dir}/out/pixels.f32"));
  float logits[3];
  ASSERT_EQ(bytes.size(), sizeof logits);
  std::memcpy(logits, bytes.data(), sizeof logits);
  const double sums[] = {9 + 40 + 7 + 10, 20 + 5 + 80 + 11, 30 + 60 + 90 + 12};
  const double mean[] = {0.1, 0.2, 0.4}, std[] = {0.25, 0.5, 2};
  // Fewer than ten roundings of values below 1: of a pixel, its normalisation and the sum of four.
  constexpr double kTolerance = 10 * kUnitFp32;
  for (int c = 0; c < 3; ++c) EXPECT_NEAR(logits[c], (sums[c] / 4 / 255 - mean[c]) / std[c], kTolerance) << c;
}

// Keras's own values; every network was exported by Keras (tests/models/onnx/keras/export.py).
TEST(Keras, ComputesWhatKerasDoes) {
  for (const std::string name : {"digits", "lenet5", "colours", "series"})
    expect_run(lenslet("diff --device cpu " + kKeras + name + ".onnx --against " + kKeras + name + ".npz"),
               kOk, "2 of 2 comparisons within their bounds");
}

// 28x28x1 and ten classes are digits, of pixels / 255 unless the file states another normalisation.
TEST(Keras, ReadsDigits) {
  const std::string model = " --model " + kKeras + "digits.onnx ";
  for (const char digit : {'0', '3', '7'})
    expect_run(lenslet("classify" + model + LENSLET_SOURCE_DIR "/samples/digit_" + digit + "_a.png"), kOk,
               std::string(": ") + digit + "  9");
  expect_run(lenslet("doctor --device cpu" + model), kOk, "computes digits correctly");
  std::vector<float> image(28 * 28, 0);
  for (int y = 4; y < 24; ++y)
    image[static_cast<size_t>(y * 28 + 14)] = image[static_cast<size_t>(y * 28 + 13)] = 1;
  std::vector<uint8_t> pixels;
  for (const float value : image) pixels.push_back(static_cast<uint8_t>(value * 255));
  const std::vector<int64_t> labels = {1};
  const auto logits_of = [&](const std::string& inputs) {
    NpzWriter()
        .add("inputs.npy", inputs)
        .add("labels.npy", npy("<i8", {1}, labels))
        .write(expand("{dir}/out/one.npz"));
    expect_run(lenslet("eval --device cpu --data {dir}/out/one.npz --logits {dir}/out/one.f32" + model), kOk);
    return read_text(expand("{dir}/out/one.f32"));
  };
  const std::string expected = logits_of(npy("<f4", {1, 28, 28, 1}, image));
  EXPECT_EQ(logits_of(npy("<f4", {1, 28, 28}, image)), expected);
  EXPECT_EQ(logits_of(npy("|u1", {1, 28, 28, 1}, pixels)), expected);
  EXPECT_EQ(logits_of(npy("|u1", {1, 1, 28, 28}, pixels)), expected);
  const std::string numbers = npy("<f4", {}, std::vector<float>{1});
  NpzWriter()
      .add("inputs.npy", numbers)
      .add("labels.npy", npy("<i8", {1}, labels))
      .write(expand("{dir}/out/scalar.npz"));
  expect_run(lenslet("eval --device cpu --data {dir}/out/scalar.npz" + model), kData, "",
             "expected Nx28x28x1");
}

// The first linear layer's weights are in the order of channels last.
TEST(Keras, WholeNetworkBackendsComputeLenet5) {
  const std::string model = kKeras + "lenet5.onnx ";
  expect_run(lenslet("inspect " + model), kOk, "it is LeNet-5");
  for (const char digit : {'0', '3', '7'})
    expect_run(lenslet("classify --device cpu --plan fused --model " + model + LENSLET_SOURCE_DIR +
                       "/samples/digit_" + digit + "_a.png"),
               kOk, std::string(": ") + digit + "  ");
  expect_run(lenslet("diff --device cpu " + model + "--against " + kKeras + "lenet5.npz"), kOk,
             "whole pass|fused");
  const std::vector<uint8_t> pixels(2 * 28 * 28, 99);
  const std::vector<int64_t> labels = {1, 2};
  const auto logits_of = [&](const std::string& inputs, const std::string& plan) {
    NpzWriter()
        .add("inputs.npy", inputs)
        .add("labels.npy", npy("<i8", {2}, labels))
        .write(expand("{dir}/out/two.npz"));
    expect_run(lenslet("eval --device cpu --data {dir}/out/two.npz --logits {dir}/out/two.f32 --plan " +
                       plan + " --model " + model),
               kOk);
    return read_text(expand("{dir}/out/two.f32"));
  };
  // Pixels / 255, with channels last.
  const std::vector<float> values(pixels.size(), 99.0f / 255);
  EXPECT_EQ(logits_of(npy("|u1", {2, 28, 28, 1}, pixels), "layered"),
            logits_of(npy("<f4", {2, 28, 28, 1}, values), "layered"));
  EXPECT_EQ(logits_of(npy("|u1", {2, 28, 28, 1}, pixels), "fused").size(), 2 * 10 * sizeof(float));
}

TEST(Keras, OtherNetworksReadNoPictures) {
  const std::string model = "--model " + kKeras + "series.onnx ";
  expect_run(lenslet("classify " + model + LENSLET_SOURCE_DIR "/samples/digit_3_a.png"), kData, "",
             "64x2|no picture of 1 or 3 channels|run()");
  std::filesystem::create_directories(expand("{dir}/out/folders/0"));
  expect_run(lenslet("eval " + model + "--data {dir}/out/folders"), kData, "", "64x2|--data FILE.npz");
}

}  // namespace
}  // namespace lenslet::test
