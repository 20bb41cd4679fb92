// Several models in several threads, on one device; some share their weights.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/embedding/model_options.h"
#include "tests/embedding/pictures.h"

namespace lenslet {
namespace {

using test::kPixels;
using test::on_cpu;
using test::pictures;

TEST(ModelThreads, EachHasAModelOfItsOwn) {
  const std::pair<std::string, std::string> ways[] = {
      {"fused", ""}, {"layered", "direct"}, {"layered", "im2col_gemm"}};
  constexpr int kThreads = 6, kCalls = 30;
  const Model shared = Model::built_in(on_cpu());
  std::atomic<int> wrong{0}, done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const ModelOptions options = on_cpu(ways[t % 3].first, ways[t % 3].second);
      // Half of the models are built in their own threads, half share the weights of one.
      Model model = t % 2 ? Model::built_in(options) : shared.with_options(options);
      std::vector<Prediction> predictions(20);
      std::vector<float> first(200), again(200);
      model.logits(pictures().images.data(), 20, first.data());
      for (int call = 0; call < kCalls; ++call) {
        const int64_t count = 1 + (call * 7 + t) % 20;
        model.predict(pictures().pixels.data(), count, predictions.data());
        for (int64_t i = 0; i < count; ++i)
          wrong += predictions[static_cast<size_t>(i)].label != pictures().digits[static_cast<size_t>(i)];
        model.logits(pictures().images.data(), 20, again.data());
        wrong += first != again;
      }
      ++done;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, kThreads);
  EXPECT_EQ(wrong, 0);
}

TEST(ModelThreads, AModelMayChangeItsThread) {
  Model model = Model::built_in(on_cpu());
  for (size_t digit = 0; digit < 10; ++digit) {
    Prediction prediction;
    std::thread([&] {
      model.predict(pictures().pixels.data() + 2 * digit * kPixels, 1, &prediction);
    }).join();
    EXPECT_EQ(prediction.label, static_cast<int32_t>(digit));
  }
}

}  // namespace
}  // namespace lenslet
