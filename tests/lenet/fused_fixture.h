// Runs backends of the whole-network LeNet-5 in guarded memory and checks their outputs, on the kind of device that the
// test was compiled for.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/graph/graph.h"
#include "framework/io/safetensors.h"
#include "framework/tensor/pixels.h"
#include "models/lenet5_sizes.h"
#include "tests/support/test_device.h"

namespace lenslet {

constexpr int64_t kPixels = kLenet5Pixels;
constexpr int64_t kImages = 67;  // distinct images; larger batches repeat them at other positions

/// A model, its inputs in every type, and the reference's logits.
struct JudgedLenet5 {
  explicit JudgedLenet5(const Safetensors& parameters);
  /// The distinct images as an input of that type.
  const void* images(ElementType type) const;
  /// The reference's logits of them: packed images are rounded ones.
  const std::vector<double>& logits_of(ElementType type) const {
    return type == ElementType::kUint4 ? logits_of_packed : logits;
  }

  std::shared_ptr<const Graph> model;
  std::shared_ptr<const Layer> network;  // model's, which computes it at once
  std::vector<uint8_t> pixels;
  std::vector<PixelPair> packed;
  std::vector<float> normalised;
  std::vector<double> logits, logits_of_packed;
  double largest = 0;
};

const JudgedLenet5& trained();
const JudgedLenet5& untrained();

/// Largest accepted observed error, as a share of the largest logit.
double largest_error(MathMode math);

/// Runs a batch whose slot i holds distinct image (i + shift) % kImages, twice, between canaries; the bits of both runs
/// must agree. Returns the output's bytes.
std::vector<uint8_t> run_batch(const JudgedLenet5& net, const std::string& backend,
                               const OperatorRequest& request, int64_t shift,
                               const std::vector<float>* images = nullptr);
std::vector<float> as_logits(const std::vector<uint8_t>& bytes);

/// The output of a large batch in which image i is distinct image i % kImages, generated on the device. The test fails
/// if the bits of an image depend on its place.
std::vector<uint8_t> run_repeated(const JudgedLenet5& net, const std::string& backend,
                                  const OperatorRequest& request);
/// Compares the logits of the first distinct images with the reference's.
void judge_first_logits(const JudgedLenet5& net, const std::string& backend, const OperatorRequest& request,
                        const std::vector<float>& logits);

/// Runs a batch and compares its logits with the reference's; returns the largest error as a share of the largest
/// logit.
double judge_logits(const JudgedLenet5& net, const std::string& backend, const OperatorRequest& request);
/// Runs a batch and compares its predictions with the logits of the same backend.
void judge_predictions(const JudgedLenet5& net, const std::string& backend, const OperatorRequest& request);

/// Every supported backend, math mode, input and output for a batch.
void for_each_offer(const JudgedLenet5& net, int64_t batch, ElementType output,
                    const std::function<void(const std::string&, const OperatorRequest&)>& visit);

using Fused = DeviceTest<>;

}  // namespace lenslet
