// Verifies every convolution backend of the registry on every problem list. Compiled once for each kind of device; a
// new backend or a new line in a list needs no change here.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "layers/reference/conv_verify.h"
#include "tests/conv/conv_fixture.h"
#include "tests/conv/kept_verifiers.h"
#include "tests/support/expect_error.h"
#include "tests/support/host_values.h"

namespace lenslet {
namespace {

class ConvBackends : public OpenedConvBackendAndList {
 protected:
  static void TearDownTestSuite() { verifiers = {}; }
  static inline KeptVerifiers verifiers;
};

// Supported problems pass. Unsupported ones are refused with the found value and a remedy, and prepare() with a reason.
TEST_P(ConvBackends, AgreeWithTheReference) {
  const auto& [name, list] = GetParam();
  std::string reason;
  Stream stream(kDevice);
  std::vector<Conv2dProblem> problems = problems_of(name, list);
  add_halves(problems, *backend_, list);
  if (problems.empty() && list.rfind("launches", 0) == 0) GTEST_SKIP() << name << " has no more launches";
  ASSERT_FALSE(problems.empty()) << "nothing to verify in the list " << list;
  int verified = 0, refused = 0;
  for (const Conv2dProblem& problem : problems) {
    ConvVerifyOptions options;
    options.bias_and_relu = problem.flops() < 1e9;
    // Most lists accept any choice of a library; LeNet's list uses the timed choice, as users get it.
    if (list != "lenet") options.timing = DevicePrepareServices::Timing::kOnce;
    // A deep layer has more tiles on a GPU than outputs that are judged by default.
    if (kDevice.is_cuda()) {
      options.max_reference_macs = std::max(options.max_reference_macs, judged_macs(problem));
    }
    std::shared_ptr<const ConvVerifier> verifier;  // generating its data takes longer than a refusal
    for (MathMode math : kMathModes) {
      const Support support = backend_->supports(problem, math);
      if (!support) {
        EXPECT_EQ(lacks(support.reason()), "") << problem.to_string();
        reason = support.reason();
        ++refused;
        continue;
      }
      try {
        if (!verifier) verifier = verifiers.of(list, problem, options);
        const VerifyResult result = verifier->verify(*backend_, math, stream);
        EXPECT_TRUE(result.passed) << to_string(math) << " " << result.reason << " [" << result.detail << "]";
        EXPECT_GT(result.checked, 0) << problem.to_string();
        ++verified;
        for (const ConvEnds& ends : kHalfEnds) {
          if (!backend_->takes_ends(problem, math, ends, {})) continue;
          options.ends = ends;
          const VerifyResult stored = ConvVerifier(problem, options).verify(*backend_, math, stream);
          EXPECT_TRUE(stored.passed) << to_string(math) << " " << stored.reason << " [" << stored.detail
                                     << "]";
        }
        options.ends = {};
      } catch (const UnavailableError& error) {
        EXPECT_STRNE(error.what(), "") << problem.to_string();
        reason = error.what();
        ++refused;
      }
    }
  }
  RecordProperty("verified", verified);
  RecordProperty("refused", refused);
  ASSERT_GT(verified + refused, 0);
  if (verified == 0 && refused > 0) GTEST_SKIP() << "refused all " << refused << ", the last: " << reason;
}

INSTANTIATE_TEST_SUITE_P(Registry, ConvBackends, testing::ValuesIn(backends_and_lists()), ByName());

/// fp32 if the backend supports the problem in it, else tf32, else fp16; nullopt, with the reason, for none.
std::optional<MathMode> first_math(const ConvBackend& backend, const Conv2dProblem& problem,
                                   std::string& reason) {
  for (MathMode math : kMathModes) {
    const Support support = backend.supports(problem, math);
    if (support) return math;
    reason = support.reason();
  }
  return std::nullopt;
}

class ConvRefusals : public OpenedConvBackend {};

// Problems beyond the limits of the backends, which most problems of the lists keep.
TEST_P(ConvRefusals, StateWhatTheyFoundAndARemedy) {
  int refused = 0;
  for (const char* text : {
           "ic8ih28oc8kh3ph1",    // in another math mode or layout
           "ic3ih9oc5kh7",        // filters
           "g4ic4ih16oc4kh7",     // of a channel each
           "g4ic4ih16oc4kh3sh3",  // strides
           "ic8ih40oc8kh3sh9",
           "g4ic4ih16oc4kh3dh1",  // dilations
           "ic8ih16oc8kh3dh1",
           "ic8ih300oc8kh257",     // the last tap from the first
           "ic8ih300oc8kh3ph200",  // paddings
           "ic4ih28oc8oh23ow23kh5ph0pw0",
           "mb2ic3ih9oc5oh9ow9kh2ph0pw0",
           "ic6ih8oc6kh3",       // channels
           "g1ic1ih8oc1kh3ph1",  // one group of one channel
           "g2ic8ih8oc8kh3ph1",  // groups
           "g70000ic70000ih3oc70000kh3ph1",
           "ic20000ih3oc8kh3ph1",     // channels of a group
           "ic1ih3oc600000kh3ph1",    // filters
           "mb2097151ic1ih32oc1kh5",  // batches
           "ic3ih26000oc3kh3ph1",     // images
           "g4ic4ih23000oc4kh3ph1",
           "ic1ih1oc1kh1073741823kw1ph536870911pw1073741823",  // padded images
           "ic2147483647ih1iw1oc1kh1pw1073741823ph0",
           "ic1ih1iw2147483647oc1kh2147483647kw1ph1073741823pw0",
       }) {
    Conv2dProblem problem = Conv2dProblem::parse(text);
    for (const TensorLayout layout : {TensorLayout::kNchw, TensorLayout::kNhwc}) {
      problem.layout = layout;
      for (const MathMode math : kMathModes) {
        const Support support = backend_->supports(problem, math);
        if (support) continue;
        EXPECT_EQ(lacks(support.reason()), "") << text;
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 0) << "every backend refuses a math mode";
}

// A backend that takes fp32 tensors alone must not read others as fp32.
TEST_P(ConvRefusals, NoTensorIsConvertedSilently) {
  Conv2dProblem problem = Conv2dProblem::parse("mb2ic64ih9oc64kh3ph1");
  Stream stream(kDevice);
  DevicePrepareServices services(stream);
  const std::vector<float> weights(static_cast<size_t>(problem.weight_shape().num_elements()));
  for (const ElementType type : {ElementType::kFp16, ElementType::kBf16, ElementType::kUint8}) {
    problem.type = type;
    for (const TensorLayout layout : {TensorLayout::kNchw, TensorLayout::kNhwc}) {
      problem.layout = layout;
      for (const MathMode math : kMathModes) {
        const Support support = backend_->supports(problem, math);
        if (support) {
          EXPECT_TRUE(backend_->takes(type) && math == MathMode::kFp32) << type.name();
          continue;
        }
        EXPECT_EQ(lacks(support.reason()), "");
        EXPECT_NE(support.reason().find(type.name()), std::string::npos) << support.reason();
        expect_error<UnavailableError>(
            [&] {
              backend_->prepare({problem, math, weights.data(), nullptr, {}, SIZE_MAX, services, stream});
            },
            type.name());
      }
    }
  }
  if (!kDevice.is_cuda()) {
    EXPECT_FALSE(backend_->takes(ElementType::kFp16));
  }
  EXPECT_FALSE(backend_->takes(ElementType::kUint8));
}

INSTANTIATE_TEST_SUITE_P(Registry, ConvRefusals, testing::ValuesIn(backend_names()), ByName());

using ConvWorkspace = OpenedConvBackendAndList;

// The announced workspace is at least what the kernel then needs; a limit is respected, or refused as a limit.
TEST_P(ConvWorkspace, IsStatedAndLimited) {
  const auto& [name, list] = GetParam();
  std::string reason;
  Stream stream(kDevice);
  DevicePrepareServices services(stream, DevicePrepareServices::Timing::kOnce);
  int stated = 0, limited = 0, none_wanted = 0;
  for (const Conv2dProblem& problem : problems_of(name, list)) {
    const std::optional<MathMode> math = first_math(*backend_, problem, reason);
    if (!math) continue;
    const std::vector<float> weights(static_cast<size_t>(problem.weight_shape().num_elements()), 1.0f);
    const auto prepare = [&, &problem = problem](size_t limit) {
      return backend_->prepare({problem, *math, weights.data(), nullptr, false, limit, services, stream});
    };
    size_t wanted = 0;
    try {
      wanted = prepare(SIZE_MAX)->workspace_bytes();
    } catch (const UnavailableError& error) {
      reason = error.what();
      continue;
    }
    ++stated;
    EXPECT_LE(wanted, backend_->workspace_bytes(problem, *math)) << problem.to_string();
    if (wanted == 0) {
      ++none_wanted;
      continue;
    }
    try {
      EXPECT_LE(prepare(wanted - 1)->workspace_bytes(), wanted - 1) << problem.to_string();
      ++limited;
    } catch (const MemoryError& error) {
      EXPECT_NE(std::string(error.what()).find("limit"), std::string::npos) << error.what();
      ++limited;
    }
  }
  if (stated == 0) GTEST_SKIP() << "prepared nothing, the last reason: " << reason;
  EXPECT_EQ(limited + none_wanted, stated);
}

INSTANTIATE_TEST_SUITE_P(Registry, ConvWorkspace, testing::ValuesIn(backends_and_lists()), ByName());

class ConvRounds : public OpenedConvBackend {};

// With a workspace limit a backend works in several rounds; each must use its part of input and output.
TEST_P(ConvRounds, AgreeWithTheReference) {
  Stream stream(kDevice);
  int verified = 0;
  ConvVerifyOptions options;
  options.timing = DevicePrepareServices::Timing::kOnce;
  for (const Conv2dProblem& problem : problems_of(GetParam(), "rounds")) {
    std::optional<ConvVerifier> verifier;  // the same data and reference for every limit
    for (const MathMode math : {MathMode::kFp32, MathMode::kTf32}) {
      if (!backend_->supports(problem, math)) continue;
      for (const size_t limit : workspace_limits(*backend_, problem, math)) {
        if (!verifier) verifier.emplace(problem, options);
        verifier->limit_workspace(limit);
        const VerifyResult result = verifier->verify(*backend_, math, stream);
        EXPECT_TRUE(result.passed) << "limit " << limit << ": " << to_string(math) << " " << result.reason
                                   << " [" << result.detail << "]";
        ++verified;
      }
    }
  }
  if (verified == 0) GTEST_SKIP() << GetParam() << " works in one round alone";
}

INSTANTIATE_TEST_SUITE_P(Registry, ConvRounds, testing::ValuesIn(backend_names()), ByName());

class ConvFusedRelu : public OpenedConvBackend {};

// A NaN must not look like a correct value: where the bias makes every other output zero, all outputs whose window
// contains the NaN are NaN. Algorithms that transform tiles may spread it further.
TEST_P(ConvFusedRelu, KeepsNan) {
  if (!backend_->fuses_rectifier(Rectifier(true))) GTEST_SKIP() << GetParam() << " fuses no ReLU";
  Stream stream(kDevice);
  DevicePrepareServices services(stream);
  std::string reason;
  int supported = 0;
  for (const char* text :
       {"mb2ic3ih9oc5kh3ph1", "mb5ic6ih12oc16kh5", "mb2ic8ih17oc64kh3", "mb2g6ic6ih9oc6kh3ph1"}) {
    for (const TensorLayout layout : {TensorLayout::kNchw, TensorLayout::kNhwc}) {
      Conv2dProblem problem = Conv2dProblem::parse(text);
      problem.layout = layout;
      const std::vector<float> weights(static_cast<size_t>(problem.weight_shape().num_elements()), 0.5f),
          bias(static_cast<size_t>(problem.k), -1000.0f);
      std::vector<float> x(static_cast<size_t>(problem.input_shape().num_elements()), 0.25f);
      // The centre pixel of the first image, in every channel.
      const int64_t plane = int64_t{problem.h} * problem.w,
                    middle = problem.h / 2 * problem.w + problem.w / 2;
      for (int64_t c = 0; c < problem.c; ++c) {
        const int64_t at = layout == TensorLayout::kNchw ? c * plane + middle : middle * problem.c + c;
        x[static_cast<size_t>(at)] = NAN;
      }
      for (const MathMode math : kMathModes) {
        if (const Support support = backend_->supports(problem, math); !support) {
          reason = support.reason();
          continue;
        }
        SCOPED_TRACE(concat(problem.to_string(), " ", to_string(layout), " ", to_string(math)));
        std::unique_ptr<ConvKernel> kernel;
        try {
          kernel = backend_->prepare(
              {problem, math, weights.data(), bias.data(), true, SIZE_MAX, services, stream});
        } catch (const UnavailableError& error) {
          reason = error.what();
          continue;
        }
        ++supported;
        const std::vector<float> y =
            output_of(*kernel, x, static_cast<size_t>(problem.output_shape().num_elements()), stream);
        const auto nans = std::count_if(y.begin(), y.end(), [](float value) { return std::isnan(value); });
        const auto zeros = std::count(y.begin(), y.end(), 0.0f);
        EXPECT_GE(nans, int64_t{problem.k} * problem.r * problem.s) << kernel->detail();
        EXPECT_EQ(nans + zeros, static_cast<int64_t>(y.size())) << kernel->detail();
        EXPECT_GE(zeros, static_cast<int64_t>(y.size()) / problem.n)
            << "of another image: " << kernel->detail();
      }
    }
  }
  if (supported == 0) GTEST_SKIP() << reason;
}

INSTANTIATE_TEST_SUITE_P(Registry, ConvFusedRelu, testing::ValuesIn(backend_names()), ByName());

class ConvChoice : public OpenedConvBackend {
 protected:
  std::unique_ptr<ConvKernel> prepare(const std::string& choice) {
    return backend_->prepare({problem_, MathMode::kFp32, weights_.data(), bias_.data(),
                              backend_->fuses_rectifier(Rectifier(true)), SIZE_MAX, services_, stream_,
                              choice});
  }

  std::vector<float> run(ConvKernel& kernel) {
    const std::vector<float> x =
        reference::uniform_values(static_cast<size_t>(problem_.input_shape().num_elements()), 3);
    return output_of(kernel, x, static_cast<size_t>(problem_.output_shape().num_elements()), stream_);
  }

  Conv2dProblem problem_ = Conv2dProblem::parse("mb5ic6ih12oc16kh5");
  std::vector<float> weights_ =
      reference::uniform_values(static_cast<size_t>(problem_.weight_shape().num_elements()), 1);
  std::vector<float> bias_ = reference::uniform_values(static_cast<size_t>(problem_.k), 2);
  Stream stream_{cuda_status().usable || !kDevice.is_cuda() ? kDevice : Device::cpu()};
  DevicePrepareServices services_{stream_};
};

// A choice made by timing is replayed by name, and gives the same bits.
TEST_P(ConvChoice, IsReplayed) {
  if (const Support support = backend_->supports(problem_, MathMode::kFp32); !support) {
    GTEST_SKIP() << support.reason();
  }
  const std::unique_ptr<ConvKernel> chosen = prepare("");
  const std::string choice = chosen->choice();
  if (choice.empty()) GTEST_SKIP() << GetParam() << " chooses nothing by timing";
  const std::unique_ptr<ConvKernel> replayed = prepare(choice);
  EXPECT_EQ(replayed->choice(), choice);
  EXPECT_EQ(replayed->workspace_bytes(), chosen->workspace_bytes());
  EXPECT_EQ(run(*replayed), run(*chosen));
  expect_error<UnavailableError>([&] { prepare("BOGUS"); }, "BOGUS");
}

INSTANTIATE_TEST_SUITE_P(Registry, ConvChoice, testing::ValuesIn(backend_names()), ByName());

class ConvSequence : public OpenedConvBackend {};

// A launch may begin before the one before it ends, but it reads what that one wrote.
TEST_P(ConvSequence, ReadsWhatTheLaunchBeforeWrote) {
  constexpr int kLaunches = 20;
  Stream stream(kDevice);
  DevicePrepareServices services(stream, DevicePrepareServices::Timing::kOnce);
  std::string reason;
  int supported = 0;
  for (const char* text :
       {"mb1ic64ih8oc64oh8kh3ph1", "mb3ic32ih33oc32oh33kh3ph1", "mb1g16ic16ih64oc16oh64kh3ph1"}) {
    const Conv2dProblem problem = Conv2dProblem::parse(text);
    const std::optional<MathMode> math = first_math(*backend_, problem, reason);
    if (!math) continue;
    const auto count = static_cast<size_t>(problem.input_shape().num_elements());  // and of the output
    const std::vector<float> weights =
        reference::uniform_values(static_cast<size_t>(problem.weight_shape().num_elements()), 1);
    const std::vector<float> bias = reference::uniform_values(static_cast<size_t>(problem.k), 2);
    std::unique_ptr<ConvKernel> kernel;
    try {
      kernel = backend_->prepare({problem, *math, weights.data(), bias.data(),
                                  backend_->fuses_rectifier(Rectifier(true)), SIZE_MAX, services, stream});
    } catch (const UnavailableError& error) {
      reason = error.what();
      continue;
    }
    const auto workspace = services.allocate(std::max<size_t>(kernel->workspace_bytes(), 1));
    const auto last_output = [&](bool wait) {
      const std::vector<float> x = reference::uniform_values(count, 3);
      std::shared_ptr<float> from = services.upload(x.data(), count), to = services.upload(x.data(), count);
      stream.synchronise();
      RunContext context{stream, workspace.get(), nullptr};
      for (int i = 0; i < kLaunches; ++i, std::swap(from, to)) {
        kernel->convolve({from.get(), to.get()}, context);
        if (wait) stream.synchronise();
      }
      std::vector<float> y(count);
      services.download(y.data(), from.get(), count);
      return y;
    };
    const std::vector<float> expected = last_output(true);
    for (int i = 0; i < 5; ++i) {
      const std::vector<float> found = last_output(false);
      EXPECT_TRUE(same_bits(found, expected)) << problem.to_string() << " " << kernel->detail();
    }
    ++supported;
  }
  if (supported == 0) GTEST_SKIP() << reason;
}

INSTANTIATE_TEST_SUITE_P(Registry, ConvSequence, testing::ValuesIn(backend_names()), ByName());

}  // namespace
}  // namespace lenslet
