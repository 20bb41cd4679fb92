#include "tests/support/planted_faults.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "models/prediction.h"

namespace lenslet {
namespace {

class FaultyOperator : public Operator {
 public:
  FaultyOperator(std::unique_ptr<Operator> right, Fault fault)
      : right_(std::move(right)), fault_(std::move(fault)) {}
  size_t workspace_bytes() const override { return right_->workspace_bytes(); }
  void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
    fault_({*right_, inputs, output, context, runs_++});
  }

 private:
  std::unique_ptr<Operator> right_;
  Fault fault_;
  int64_t runs_ = 0;
};

/// Modifies memory of the device on the host.
template <typename Change>
void edit(void* memory, size_t bytes, RunContext& context, Change&& change) {
  const Device device = context.stream.device();
  std::vector<uint8_t> values(bytes);
  copy_bytes(values.data(), Device::cpu(), memory, device, bytes, context.stream);
  context.stream.synchronise();
  change(values.data());
  copy_bytes(memory, device, values.data(), Device::cpu(), bytes, context.stream);
  context.stream.synchronise();
}

/// Runs correctly, then changes one value: the largest logit, or the last prediction.
template <typename ChangeValue, typename ChangePrediction>
void spoil(const FaultyRun& run, ChangeValue&& change_value, ChangePrediction&& change_prediction) {
  run.run_correctly();
  edit(run.output.data, run.output.bytes(), run.context, [&](uint8_t* bytes) {
    const auto count = static_cast<size_t>(run.output.shape.num_elements());
    if (run.output.type == kPrediction) {
      Prediction prediction;
      uint8_t* const last = bytes + (count - 1) * sizeof prediction;
      std::memcpy(&prediction, last, sizeof prediction);
      change_prediction(prediction);
      std::memcpy(last, &prediction, sizeof prediction);
      return;
    }
    std::vector<float> values(count);
    std::memcpy(values.data(), bytes, run.output.bytes());
    change_value(*std::max_element(values.begin(), values.end(),
                                   [](float a, float b) { return std::abs(a) < std::abs(b); }));
    std::memcpy(bytes, values.data(), run.output.bytes());
  });
}

void overwrite(void* memory, std::ptrdiff_t offset, RunContext& context) {
  fill_bytes(static_cast<char*>(memory) + offset, context.stream.device(), 0x11, sizeof(float),
             context.stream);
}

struct PlantedFault {
  const char* name;
  std::string words;
  Fault fault;
};

std::vector<PlantedFault> planted_faults(const std::string& wrong_value, double small_error) {
  const auto outside = [](const FaultyRun& run) { return static_cast<std::ptrdiff_t>(run.output.bytes()); };
  return {
      {"a wrong element", wrong_value,
       [](const FaultyRun& run) {
         spoil(
             run, [](float& value) { value = 2 * value + 1; },
             [](Prediction& prediction) { prediction.label = (prediction.label + 1) % 10; });
       }},
      {"a NaN", wrong_value,
       [](const FaultyRun& run) {
         spoil(
             run, [](float& value) { value = NAN; },
             [](Prediction& prediction) { prediction.probability = NAN; });
       }},
      {"a small error", wrong_value,
       [small_error](const FaultyRun& run) {
         const auto factor = static_cast<float>(1 - small_error);
         spoil(
             run, [factor](float& value) { value *= factor; },
             [factor](Prediction& prediction) { prediction.probability *= factor; });
       }},
      {"an element that is never written", "two runs differ",
       [outside](const FaultyRun& run) {
         char* const last = reinterpret_cast<char*>(run.output.data) + outside(run) - sizeof(float);
         edit(last, sizeof(float), run.context, [&](uint8_t*) { run.run_correctly(); });
       }},
      {"a result that is not repeated", "two runs differ",
       [](const FaultyRun& run) {
         const float factor = run.number % 2 == 0 ? 1.0f : 1.0f + 0x1p-23f;
         spoil(
             run, [factor](float& value) { value *= factor; },
             [factor](Prediction& prediction) { prediction.probability *= factor; });
       }},
      {"a write after the output", "wrote past the end of block 1",
       [outside](const FaultyRun& run) {
         run.run_correctly();
         overwrite(run.output.data, outside(run), run.context);
       }},
      {"a write before the output", "wrote past the end of block 0",  // the canary before it begins there
       [](const FaultyRun& run) {
         run.run_correctly();
         overwrite(run.output.data, -static_cast<std::ptrdiff_t>(sizeof(float)), run.context);
       }},
      {"a write after the workspace", "wrote past the end of block 2",
       [](const FaultyRun& run) {
         run.run_correctly();
         overwrite(run.context.workspace, static_cast<std::ptrdiff_t>(run.right.workspace_bytes()),
                   run.context);
       }},
      {"a write into the input", "changed its input",
       [](const FaultyRun& run) {
         run.run_correctly();
         overwrite(const_cast<float*>(run.inputs[0].data), 0, run.context);
       }},
  };
}

/// The failures that `judge` reports, intercepted from GoogleTest.
std::vector<std::string> failures_of(const std::function<void()>& judge) {
  testing::TestPartResultArray results;
  {
    using Reporter = testing::ScopedFakeTestPartResultReporter;
    const Reporter reporter(Reporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    judge();
  }
  std::vector<std::string> failures;
  for (int i = 0; i < results.size(); ++i) {
    if (results.GetTestPartResult(i).failed()) failures.emplace_back(results.GetTestPartResult(i).message());
  }
  return failures;
}

}  // namespace

std::unique_ptr<Operator> with_fault(std::unique_ptr<Operator> right, const Fault& fault) {
  if (!fault) return right;
  return std::make_unique<FaultyOperator>(std::move(right), fault);
}

void expect_faults_seen(const std::string& wrong_value, double small_error,
                        const std::function<void(const Fault&)>& judge) {
  for (const std::string& failure : failures_of([&] { judge(nullptr); })) {
    ADD_FAILURE() << "without a fault: " << failure;
  }
  for (const PlantedFault& planted : planted_faults(wrong_value, small_error)) {
    const std::vector<std::string> failures = failures_of([&] { judge(planted.fault); });
    const bool told = std::any_of(failures.begin(), failures.end(), [&](const std::string& failure) {
      return failure.find(planted.words) != std::string::npos;
    });
    EXPECT_TRUE(told) << planted.name << " is not told as '" << planted.words << "': " << failures.size()
                      << " failures" << (failures.empty() ? "" : ", the first: " + failures.front());
  }
}

}  // namespace lenslet
