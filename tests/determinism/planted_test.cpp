// The checks of promises detect faults: layers with one planted fault each fail the matching check, and only if their
// promise excludes it.
#include <gtest/gtest.h>

#include <atomic>

#include "framework/base/parallel.h"
#include "framework/tensor/tensor.h"
#include "tests/determinism/subjects.h"

namespace lenslet::determinism {
namespace {

constexpr int64_t kValues = 6;

/// y = the sum of a sample's values, with a fault named like its backend. It states no promise.
class SilentLayer : public Layer {
 public:
  std::string_view type() const override { return "planted"; }
  std::string describe() const override { return "sum"; }
  Shape infer_shape(const std::vector<Shape>& inputs) const override { return {inputs.at(0)[0], 1}; }
  Work work(const std::vector<Shape>&) const override { return {}; }
  std::vector<const BackendEntry*> backend_entries(DeviceKind) const override {
    static const std::vector<BackendEntry> entries = [] {
      std::vector<BackendEntry> all;
      for (const char* name : {"honest", "by_run", "by_preparation", "by_place", "by_batch", "by_neighbour",
                               "by_threads", "by_workspace"}) {
        all.emplace_back(DeviceKind::kCpu, name, BackendEntry::Kind::kBuiltIn, "");
      }
      return all;
    }();
    std::vector<const BackendEntry*> pointers;
    for (const BackendEntry& entry : entries) pointers.push_back(&entry);
    return pointers;
  }

 private:
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest&,
                                          Stream&) const override {
    static std::atomic<int> preparations{0};
    return std::make_unique<Sum>(backend.name(), ++preparations);
  }
  class Sum : public Operator {
   public:
    Sum(std::string backend, int preparation) : backend_(std::move(backend)), preparation_(preparation) {}
    size_t workspace_bytes() const override { return sizeof(float); }
    void run(const std::vector<ConstTensorView>& inputs, TensorView output, RunContext& context) override {
      ++runs_;
      const int64_t batch = inputs[0].shape[0];
      for (int64_t n = 0; n < batch; ++n) {
        const float* const x = inputs[0].data + n * kValues;
        double sum = 0;
        for (int64_t i = 0; i < kValues; ++i) sum += double{x[i]};
        output.data[n] = static_cast<float>(sum) + fault(n, batch, inputs[0].data, context);
      }
    }

   private:
    // As small as the effect of a different order of the sum, and only where a tail or a long batch shows it.
    float fault(int64_t n, int64_t batch, const float* x, const RunContext& context) const {
      constexpr float kLittle = 0x1p-18f;
      if (backend_ == "by_run") return kLittle * static_cast<float>(runs_);
      if (backend_ == "by_preparation") return kLittle * static_cast<float>(preparation_);
      if (backend_ == "by_place") return n == 64 ? kLittle : 0.0f;
      if (backend_ == "by_batch") return batch > 100 ? kLittle : 0.0f;
      if (backend_ == "by_neighbour") return n > 0 ? kLittle * x[(n - 1) * kValues] : 0.0f;
      if (backend_ == "by_threads") return num_threads() == 8 ? kLittle : 0.0f;
      if (backend_ == "by_workspace")
        return *static_cast<const float*>(context.workspace) > 0 ? kLittle : 0.0f;
      return 0.0f;
    }

    std::string backend_;
    int preparation_, runs_ = 0;
  };
};

class PlantedLayer : public SilentLayer {
 public:
  explicit PlantedLayer(Determinism promised) : promised_(promised) {}

 private:
  Determinism do_determinism(const BackendEntry&, const OperatorRequest&) const override { return promised_; }
  Determinism promised_;
};

std::string broken(const std::string& backend, Determinism promise) {
  const PlantedLayer layer(promise);
  const Subject subject = layer_subject(
      layer, backend, request_for(layer, {{1, kValues}}, Device::cpu(), MathMode::kFp32), 7, 1000);
  const std::string found = broken_promise(subject);
  return found.empty() ? broken_threads({subject}) : found;
}

void expect_caught(const std::string& backend, Determinism promise, const std::string& words) {
  const std::string found = broken(backend, promise);
  EXPECT_NE(found.find(words), std::string::npos)
      << backend << " promises " << to_string(promise) << ": '" << found << "'";
}

TEST(PlantedFaults, AnHonestBackendKeepsEveryPromise) {
  for (const Determinism promise : {Determinism::kBounded, Determinism::kBitwise, Determinism::kPosition}) {
    EXPECT_EQ(broken("honest", promise), "");
  }
}

TEST(PlantedFaults, AnotherRunIsSeenWhateverIsPromised) {
  for (const Determinism promise : {Determinism::kBounded, Determinism::kBitwise, Determinism::kPosition}) {
    expect_caught("by_run", promise, "a second run differs");
  }
}

TEST(PlantedFaults, MemoryThatWasNeverWrittenIsSeen) {
  expect_caught("by_workspace", Determinism::kPosition, "differs");
}

TEST(PlantedFaults, AnotherPreparationIsSeenFromBitwiseOn) {
  expect_caught("by_preparation", Determinism::kBitwise, "prepared afresh");
  EXPECT_EQ(broken("by_preparation", Determinism::kBounded), "");
}

TEST(PlantedFaults, ThePlaceInTheBatchIsSeen) {
  expect_caught("by_place", Determinism::kPosition, "at place 64 of 65");
  expect_caught("by_batch", Determinism::kPosition, "of 1000 differs");
  expect_caught("by_neighbour", Determinism::kPosition, "at place 1 of 2");
  for (const char* const backend : {"by_place", "by_batch", "by_neighbour"}) {
    EXPECT_EQ(broken(backend, Determinism::kBitwise), "") << backend;
  }
}

TEST(PlantedFaults, TheNumberOfThreadsIsSeen) {
  expect_caught("by_threads", Determinism::kPosition, "8 threads give other bits than 1");
  EXPECT_EQ(broken("by_threads", Determinism::kBitwise), "");
}

// A layer without a promise of its own gets the strongest promise, which its backends must keep.
TEST(PlantedFaults, TheDefaultIsTheStrongestPromise) {
  EXPECT_EQ(SilentLayer().determinism("honest", {}), Determinism::kPosition);
}

}  // namespace
}  // namespace lenslet::determinism
