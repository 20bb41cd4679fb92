// The judge of the whole-network backends detects planted faults: each fault in each backend fails, for every input and
// output type.
#include "models/prediction.h"
#include "tests/lenet/fused_fixture.h"
#include "tests/support/planted_faults.h"

namespace lenslet {
namespace {

/// A fault in a correct operator, for one kind of output.
class FaultyNetwork : public Layer {
 public:
  FaultyNetwork(const Layer& right, ElementType struck, Fault fault)
      : right_(right), struck_(struck), fault_(std::move(fault)) {}
  std::string_view type() const override { return right_.type(); }
  std::string describe() const override { return right_.describe(); }
  bool converts_ends() const override { return true; }
  Shape infer_shape(const std::vector<Shape>& inputs) const override { return right_.infer_shape(inputs); }
  Work work(const std::vector<Shape>& inputs) const override { return right_.work(inputs); }
  std::vector<const BackendEntry*> backend_entries(DeviceKind kind) const override {
    return right_.backend_entries(kind);
  }

 private:
  Support do_supports(const BackendEntry& backend, const OperatorRequest& request) const override {
    return right_.supports(backend, request);
  }
  double do_output_bound(const BackendEntry& backend, const OperatorRequest& request) const override {
    return right_.output_bound(backend.name(), request);
  }
  std::unique_ptr<Operator> make_operator(const BackendEntry& backend, const OperatorRequest& request,
                                          Stream& stream) const override {
    return with_fault(right_.prepare(backend, request, stream),
                      request.output_type == struck_ ? fault_ : nullptr);
  }

  const Layer& right_;
  ElementType struck_;
  Fault fault_;
};

TEST_F(Fused, SeesPlantedFaults) {
  constexpr int64_t kBatch = 5;
  // Times the accepted error. The accepted error is a share of the largest logit of all images; the planted error is a
  // share of the largest logit of this batch, which is smaller.
  constexpr double kBeyond = 20;
  int judged = 0;
  for (const ElementType output : {ElementType::kFp32, kPrediction}) {
    for_each_offer(
        trained(), kBatch, output, [&](const std::string& backend, const OperatorRequest& request) {
          expect_faults_seen("the judge", kBeyond * largest_error(request.math), [&](const Fault& fault) {
            JudgedLenet5 faulty = trained();
            faulty.network = std::make_shared<FaultyNetwork>(*trained().network, output, fault);
            if (output == ElementType::kFp32) {
              judge_logits(faulty, backend, request);
            } else {
              judge_predictions(faulty, backend, request);
            }
          });
          ++judged;
        });
  }
  EXPECT_GT(judged, 0);
}

}  // namespace
}  // namespace lenslet
