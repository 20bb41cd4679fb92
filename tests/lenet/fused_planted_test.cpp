// The judge of the fused variants detects planted faults: each fault in each variant fails, for every input and output
// type.
#include "tests/lenet/fused_fixture.h"
#include "tests/support/planted_faults.h"

namespace lenslet {
namespace {

/// A fault in a correct operator, for one kind of output.
class FaultyModel : public FusedModel {
 public:
  FaultyModel(const FusedModel& right, ElementType struck, Fault fault)
      : right_(right), struck_(struck), fault_(std::move(fault)) {}
  Work work(const FusedRequest& request) const override { return right_.work(request); }
  std::vector<std::string> variants(DeviceKind kind) const override { return right_.variants(kind); }
  Support supports(const std::string& variant, const FusedRequest& request) const override {
    return right_.supports(variant, request);
  }
  double output_bound(const std::string& variant, const FusedRequest& request) const override {
    return right_.output_bound(variant, request);
  }
  Determinism determinism(const std::string& variant, const FusedRequest& request) const override {
    return right_.determinism(variant, request);
  }
  std::unique_ptr<Operator> prepare(const std::string& variant, const FusedRequest& request,
                                    Stream& stream) const override {
    return with_fault(right_.prepare(variant, request, stream), request.output == struck_ ? fault_ : nullptr);
  }

 private:
  const FusedModel& right_;
  ElementType struck_;
  Fault fault_;
};

TEST_F(Fused, SeesPlantedFaults) {
  constexpr int64_t kBatch = 5;
  // A multiple of the largest accepted error, because this batch lacks the largest logits.
  constexpr double kBeyond = 20;
  int judged = 0;
  for (const ElementType output : {ElementType::kFp32, ElementType::kClass}) {
    for_each_offer(trained(), kBatch, output, [&](const std::string& variant, const FusedRequest& request) {
      expect_faults_seen("the judge", kBeyond * largest_error(request.math), [&](const Fault& fault) {
        Subject subject = trained();
        subject.model = std::make_shared<FaultyModel>(*trained().model, output, fault);
        if (output == ElementType::kFp32) {
          judge_logits(subject, variant, request);
        } else {
          judge_predictions(subject, variant, request);
        }
      });
      ++judged;
    });
  }
  EXPECT_GT(judged, 0);
}

}  // namespace
}  // namespace lenslet
