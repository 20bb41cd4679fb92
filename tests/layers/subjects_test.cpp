// Verifies every backend of every layer on the long list of subjects. Compiled once for each kind of device; a new
// backend needs no change here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "framework/base/parallel.h"
#include "layers/fusion/fusion.h"
#include "layers/reference/layer_subject.h"
#include "layers/relu/relu_layer.h"
#include "tests/conv/refusals.h"
#include "tests/layers/layer_fixture.h"
#include "tests/layers/layer_problems.h"
#include "tests/support/planted_faults.h"
#include "tests/support/test_names.h"

namespace lenslet {
namespace {

using reference::FusedRectifier;
using reference::LayerSubject;
using reference::Pooling;
using reference::Subject;

const reference::Subjects& all_subjects() {
  static const reference::Subjects all = reference::long_subjects();
  return all;
}

struct Family {
  std::string operation, backend, name = operation + "_" + backend;
};

std::vector<Family> families() {
  std::vector<Family> all;
  for (const auto& subject : all_subjects()) {
    const std::string operation(subject->operation());
    const bool known = std::any_of(all.begin(), all.end(),
                                   [&](const Family& family) { return family.operation == operation; });
    if (known) continue;
    for (const std::string& backend : subject->backends(kDevice.kind)) all.push_back({operation, backend});
  }
  return all;
}

class LayerSubjects : public DeviceTest<testing::TestWithParam<Family>> {
 protected:
  /// A backend that this build has refuses with what it found and a remedy.
  void expect_remedy(const Layer& layer, const std::string& reason) {
    const BackendEntry* const entry = layer.find_backend(GetParam().backend, kDevice.kind);
    ASSERT_NE(entry, nullptr);
    if (entry->available()) {
      EXPECT_EQ(lacks(reason), "");
    }
    reason_ = reason;
  }
  /// Skips a backend that computes nothing. A build may lack a library, and a GPU what it needs; a CPU lacks nothing.
  void skip_for_the_reason() {
    EXPECT_TRUE(kDevice.is_cuda()) << GetParam().name << " computes nothing: " << reason_;
    GTEST_SKIP() << reason_;
  }
  void verify(const Subject& subject, MathMode math, int64_t shift = 0) {
    const std::string& backend = GetParam().backend;
    const std::string what = concat(backend, " ", to_string(math), " ", subject.problem());
    Stream stream(kDevice);
    try {
      const VerifyResult result = subject.verify(backend, math, stream, shift);
      EXPECT_TRUE(result.passed) << what << ", shifted by " << shift << ": " << result.reason << " ["
                                 << result.detail << "]";
      EXPECT_GT(result.checked, 0) << what;
      ++verified_;
    } catch (const UnavailableError& error) {
      SCOPED_TRACE(what);
      expect_remedy(*subject.layer(), error.what());
    }
  }
  void verify_in_every_mode(const Subject& subject) {
    for (const MathMode math : kMathModes) {
      if (math == MathMode::kFp32 || subject.uses_math()) verify(subject, math);
    }
  }
  template <typename Visit>
  void for_each_subject(Visit visit) {
    for (const auto& subject : all_subjects()) {
      if (subject->operation() == GetParam().operation) visit(*subject);
    }
    if (verified_ > 0) return;
    ASSERT_FALSE(reason_.empty()) << "no subject of " << GetParam().operation << " suits this test";
    skip_for_the_reason();
  }

  int verified_ = 0;
  std::string reason_;  // of the last refusal
};

TEST_P(LayerSubjects, AgreeWithTheReference) {
  for_each_subject([&](const Subject& subject) {
    if (!is_large(subject)) verify_in_every_mode(subject);
  });
  RecordProperty("verified", verified_);
}

// A test of its own, because under racecheck these take minutes and add only blocks like those of the others.
TEST_P(LayerSubjects, AgreeOnLargeProblems) {
  for_each_subject([&](const Subject& subject) {
    if (is_large(subject)) verify_in_every_mode(subject);
  });
  RecordProperty("verified", verified_);
}

TEST_P(LayerSubjects, TakeInputsAtAnyAddress) {
  for_each_subject([&](const Subject& subject) {
    if (is_large(subject)) return;
    for (const MathMode math : kMathModes) {
      if (math != MathMode::kFp32 && !subject.uses_math()) continue;
      for (const int64_t shift : {1, 2, 3}) verify(subject, math, shift);
    }
  });
}

TEST_P(LayerSubjects, ShareTheWorkOutAmongThreads) {
  const int before = num_threads();
  set_num_threads(3);
  for_each_subject([&](const Subject& subject) {
    if (is_large(subject)) verify(subject, MathMode::kFp32);
  });
  set_num_threads(before);
}

std::vector<LayerSubject> subjects_for_faults(const std::string& operation) {
  std::vector<LayerSubject> all;
  all.push_back(reference::linear_subject({5, 33}, 127));
  for (const Pooling kind : {Pooling::kMax, Pooling::kAverage, Pooling::kAverageInside}) {
    all.push_back(reference::pool_subject(kind, {2, 3, 7, 13}, Pool2dWindow::square(2, 2)));
    all.push_back(reference::pool_subject(kind, {2, 3, 7, 13}, Pool2dWindow::square(3, 2, 1)));
  }
  all.push_back(reference::relu_subject({3, 17}));
  all.push_back(reference::reshape_subject({3, 17, 2}, {34}));
  all.push_back(reference::activation_subject({3, 17}));
  all.push_back(reference::constant_subject({3, 17, 2}, {17, 1}));
  all.push_back(reference::lrn_subject({3, 17, 2}, 5, 0.5f, 0.75f, 1));
  all.push_back(reference::transpose_subject({3, 17, 2}, {0, 2, 1}));
  all.push_back(reference::pad_subject({3, 17, 2}, {0, 1, 0}, {0, 0, 2}));
  all.push_back(reference::slice_subject({3, 17, 2}, {0, 1, 0}, {1, 2, 1}, {1, 8, 2}));
  all.push_back(reference::concat_subject({{3, 17, 2}}, 1));
  all.push_back(reference::softmax_subject({3, 10}, 10));
  all.push_back(reference::softmax_subject({2, 10, 7}, 4, {}, 1, true));
  all.push_back(reference::softmax_subject({2, 1025}, 3));
  all.erase(std::remove_if(all.begin(), all.end(),
                           [&](const LayerSubject& subject) { return subject.operation() != operation; }),
            all.end());
  return all;
}

// The judge detects every planted fault of a backend, with every kind of data.
TEST_P(LayerSubjects, SeesPlantedFaults) {
  constexpr double kSmallError = 1e-3;
  static const ReluLayer kRelu;
  const auto& [operation, backend, name] = GetParam();
  Stream stream(kDevice);
  const std::vector<LayerSubject> subjects = subjects_for_faults(operation);
  ASSERT_FALSE(subjects.empty()) << "add a subject for " << operation;
  for (const LayerSubject& subject : subjects) {
    for (const reference::LayerCase& one : subject.cases()) {
      const auto math =
          std::find_if(std::begin(kMathModes), std::end(kMathModes), [&, &backend = backend](MathMode mode) {
            const Support support = one.layer->supports(backend, one.request(stream.device(), mode));
            if (!support) expect_remedy(*one.layer, support.reason());
            return static_cast<bool>(support);
          });
      if (math == std::end(kMathModes)) continue;
      // The bound of rounded operands exceeds the small error; whole numbers are exact in every mode.
      if (*math != MathMode::kFp32 && one.factor(*math) > 0) continue;
      for (const FusedRectifier& after : {FusedRectifier{}, FusedRectifier{&kRelu, 0, INFINITY}}) {
        const OperatorRequest request = one.request(stream.device(), *math, after);
        if (after.layer && !one.layer->supports(backend, request)) continue;
        SCOPED_TRACE(subject.problem() + ", " + one.data);
        expect_faults_seen("elements differ", kSmallError, [&, &backend = backend](const Fault& fault) {
          const auto op = with_fault(one.layer->prepare(backend, request, stream), fault);
          VerifyResult result;
          one.verify(*op, request, after, stream, 0, result);
          EXPECT_EQ(result.reason, "");
          ++verified_;
        });
      }
    }
  }
  if (verified_ == 0) skip_for_the_reason();
}

// The judge states the numbers of each rectifier itself: those that the backends read are the same.
TEST(FusedRectifiers, AreReadAlikeByJudgeAndBackends) {
  for (const FusedRectifier& judged : reference::fused_rectifiers()) {
    const Fusion fusion =
        read_fusion(judged.layer ? std::vector<const Layer*>{judged.layer} : std::vector<const Layer*>{});
    ASSERT_TRUE(fusion.support) << fusion.support.reason();
    EXPECT_EQ(fusion.rectifier.slope, judged.slope);
    EXPECT_EQ(fusion.rectifier.ceiling, judged.ceiling);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, LayerSubjects, testing::ValuesIn(families()), ByName());

}  // namespace
}  // namespace lenslet
