// Model on a GPU: equal answers for every plan and arithmetic, small and large calls, several models.
#include <gtest/gtest.h>

#include <thread>

#include "api/host_memory.h"
#include "api/model.h"
#include "tests/embedding/model_options.h"
#include "tests/embedding/normalised_weights.h"
#include "tests/embedding/pictures.h"
#include "tests/support/expect_error.h"
#include "tests/support/gpu.h"
#include "tests/support/logit_tolerances.h"

namespace lenslet {
namespace {

using test::on_cpu;
using test::on_gpu;
using test::pictures;
using test::repeated;

constexpr std::pair<const char*, double> kMaths[] = {{"fp32", test::kLogitTolerance},
                                                     {"tf32", test::kShortLogitTolerance},
                                                     {"fp16", test::kShortLogitTolerance}};

// Repeats the samples up to `count` images: few are read from mapped host memory, more are copied, most are split.
void check_answers(Model& model, int64_t count, double tolerance) {
  SCOPED_TRACE(count);
  const std::vector<uint8_t> pixels = repeated(pictures().pixels, count);
  const std::vector<float> images = repeated(pictures().images, count);
  const auto images_count = static_cast<size_t>(count);
  std::vector<Prediction> of_bytes(images_count), of_floats(images_count);
  std::vector<float> bytes_logits(images_count * 10), floats_logits(images_count * 10), expected(200);
  Model::built_in(on_cpu()).logits(pictures().images.data(), 20, expected.data());
  model.predict(pixels.data(), count, of_bytes.data());
  model.predict(images.data(), count, of_floats.data());
  model.logits(pixels.data(), count, bytes_logits.data());
  model.logits(images.data(), count, floats_logits.data());
  for (size_t i = 0; i < images_count; ++i) {
    ASSERT_EQ(of_bytes[i].label, pictures().digits[i % 20]) << i;
    ASSERT_EQ(of_floats[i].label, pictures().digits[i % 20]) << i;
    ASSERT_GT(of_bytes[i].probability, 0.5) << i;
    ASSERT_LE(of_bytes[i].probability, 1.0) << i;
  }
  for (size_t i = 0; i < images_count * 10; ++i) {
    ASSERT_NEAR(bytes_logits[i], expected[i % 200], tolerance) << i;
    ASSERT_NEAR(floats_logits[i], expected[i % 200], tolerance) << i;
  }
}

TEST(ModelGpu, AnswersByEveryPlanAndMath) {
  LENSLET_SKIP_WITHOUT_GPU();
  for (const char* plan : {"auto", "layered", "fused"}) {
    for (const auto& [math, tolerance] : kMaths) {
      SCOPED_TRACE(std::string(plan) + " " + math);
      // Tensor cores need a compute capability that the GPU may lack.
      try {
        Model model = Model::built_in(on_gpu(plan, math));
        for (const int64_t count : {1, 20, 64, 65, 1000}) check_answers(model, count, tolerance);
      } catch (const UnavailableError& error) {
        EXPECT_STRNE(math, "fp32") << error.what();
      }
    }
  }
}

// Bytes reach the kernels with the file's normalisation folded in, or normalised before; floats are used unchanged.
TEST(ModelGpu, NormalisesAsTheWeightsFileStates) {
  LENSLET_SKIP_WITHOUT_GPU();
  std::vector<float> expected(200);
  Model::built_in(on_cpu()).logits(pictures().images.data(), 20, expected.data());
  for (const auto& stated : test::stated_normalisations()) {
    const std::string path = test::write_weights(stated);
    const std::vector<float> manual = test::normalised(pictures().pixels, stated.normalisation);
    for (const char* plan : {"auto", "layered", "fused"}) {
      for (const auto& [math, tolerance] : kMaths) {
        SCOPED_TRACE(std::string("mean ") + stated.mean + ", std " + stated.std + ", " + plan + " " + math);
        try {
          Model model = Model::load(path, on_gpu(plan, math));
          for (const int64_t count : {1, 20}) {
            std::vector<float> bytes_logits(static_cast<size_t>(count) * 10), floats_logits(bytes_logits);
            std::vector<Prediction> predictions(static_cast<size_t>(count));
            model.logits(pictures().pixels.data(), count, bytes_logits.data());
            model.logits(manual.data(), count, floats_logits.data());
            model.predict(pictures().pixels.data(), count, predictions.data());
            for (size_t i = 0; i < bytes_logits.size(); ++i) {
              ASSERT_NEAR(bytes_logits[i], expected[i], tolerance) << "bytes, " << i;
              ASSERT_NEAR(floats_logits[i], expected[i], tolerance) << "floats, " << i;
            }
            for (size_t i = 0; i < predictions.size(); ++i)
              ASSERT_EQ(predictions[i].label, pictures().digits[i]) << i;
          }
        } catch (const UnavailableError& error) {
          EXPECT_STRNE(math, "fp32") << error.what();
        }
      }
    }
  }
}

TEST(ModelGpu, CutsLongCalls) {
  LENSLET_SKIP_WITHOUT_GPU();
  Model model = Model::built_in(on_gpu("auto", "fp32", "", 333));
  check_answers(model, 1000, test::kLogitTolerance);
}

// A GPU reads page-locked memory where it is, in other chunks than ordinary memory. Each has its own preparations,
// which the next call of its kind finds again.
TEST(ModelGpu, PageLockedMemoryHasTheAnswersOfOrdinary) {
  LENSLET_SKIP_WITHOUT_GPU();
  for (const char* plan : {"auto", "layered"}) {
    Model model = Model::built_in(on_gpu(plan));
    for (const int64_t count : {3'000, 100'003}) {
      SCOPED_TRACE(std::string(plan) + " " + std::to_string(count));
      std::vector<uint8_t> ordinary = repeated(pictures().pixels, count);
      const std::unique_ptr<void, void (*)(void*)> locked(allocate_host_memory(ordinary.size()),
                                                          free_host_memory);
      std::copy(ordinary.begin(), ordinary.end(), static_cast<uint8_t*>(locked.get()));
      std::vector<Prediction> expected(static_cast<size_t>(count)), found(static_cast<size_t>(count));
      model.predict(ordinary.data(), count, expected.data());
      for (const void* pixels : {locked.get(), static_cast<void*>(ordinary.data()), locked.get()}) {
        std::fill(found.begin(), found.end(), Prediction{-1, 0});
        model.predict(static_cast<const uint8_t*>(pixels), count, found.data());
        for (size_t i = 0; i < found.size(); ++i) {
          ASSERT_EQ(found[i].label, pictures().digits[i % 20]) << i;
          ASSERT_NEAR(found[i].probability, expected[i].probability, test::kProbabilityTolerance) << i;
        }
      }
    }
  }
}

TEST(ModelGpu, ReportsPlanAndProfile) {
  LENSLET_SKIP_WITHOUT_GPU();
  Model model = Model::built_in(on_gpu());
  EXPECT_TRUE(model.device().is_cuda());
  EXPECT_EQ(model.device_name(), cuda_status().devices.at(0).name);
  EXPECT_EQ(model.plan(1000).execution, Plan::kFused);
  const ModelProfile fused = Model::built_in(on_gpu("fused")).profile(1000, 5);
  EXPECT_EQ(fused.device, "cuda:0");
  EXPECT_GT(fused.total_ns, 0);
  EXPECT_GT(model.profile(1000, 5).layers.size(), 4u);
  size_t serving = 0;
  for (const BackendChoice& choice : model.backends(64)) serving += choice.reason.empty();
  EXPECT_GT(serving, 8u);
  expect_error<UnavailableError>([] { Model::built_in(on_gpu("fused", "fp32", "simd")); }, "runs on cpu");
}

TEST(ModelGpu, FusedIsFasterThanLayered) {
  LENSLET_SKIP_WITHOUT_GPU();
  EXPECT_LT(Model::built_in(on_gpu("fused")).profile(1000, 5).total_ns,
            Model::built_in(on_gpu("layered")).profile(1000, 5).total_ns);
}

TEST(ModelGpu, SeveralInSeveralThreads) {
  LENSLET_SKIP_WITHOUT_GPU();
  std::vector<std::thread> threads;
  for (const char* plan : {"auto", "layered", "fused", "layered"}) {
    threads.emplace_back([plan] {
      Model model = Model::built_in(on_gpu(plan));
      for (const int64_t count : {1, 40, 200, 7, 40}) check_answers(model, count, test::kLogitTolerance);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace lenslet
