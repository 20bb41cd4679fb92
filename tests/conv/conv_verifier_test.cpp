// The verifier detects every kind of wrong backend and accepts the correct one.
#include "layers/reference/conv_verify.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <optional>

#include "framework/base/interruption.h"
#include "framework/tensor/poison.h"
#include "framework/tensor/stored_floats.h"
#include "layers/conv/conv_registry.h"
#include "layers/conv/prepare_services.h"
#include "tests/support/test_names.h"
#include "tests/support/wrapped_backend.h"

namespace lenslet {
namespace {

/// The arguments of a run.
struct KernelRun {
  const Conv2dProblem& problem;
  const ConvArgs& args;
  ConvKernel& kernel;
  RunContext& context;
  void correctly() const { kernel.convolve(args, context); }
  /// The last output; the canaries follow it.
  float* last() const { return args.y + problem.output_shape().num_elements() - 1; }
};

/// Called instead of the run of a correct kernel.
using Sabotage = std::function<void(const KernelRun&)>;

class SabotagedKernel : public WrappedKernel {
 public:
  SabotagedKernel(Conv2dProblem problem, std::unique_ptr<ConvKernel> kernel, const Sabotage& sabotage)
      : WrappedKernel(std::move(kernel)), problem_(std::move(problem)), sabotage_(sabotage) {}
  // Slightly more than the kernel needs, so that there is always a workspace to misuse.
  size_t workspace_bytes() const override { return WrappedKernel::workspace_bytes() + 64; }
  void convolve(const ConvArgs& args, RunContext& context) override {
    sabotage_({problem_, args, right(), context});
  }

 private:
  Conv2dProblem problem_;
  const Sabotage& sabotage_;
};

class SabotagedBackend : public WrappedBackend {
 public:
  explicit SabotagedBackend(Sabotage sabotage)
      : WrappedBackend(find_conv_backend(DeviceKind::kCpu, "direct").open()),
        sabotage_(std::move(sabotage)) {}
  size_t workspace_bytes(const Conv2dProblem& problem, MathMode math) const override {
    return WrappedBackend::workspace_bytes(problem, math) + 64;
  }

 protected:
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    return std::make_unique<SabotagedKernel>(request.problem, WrappedBackend::make_kernel(request),
                                             sabotage_);
  }

 private:
  Sabotage sabotage_;
};

VerifyResult verify(const Sabotage& sabotage, const char* problem = "mb3ic3ih9oc5kh3ph1") {
  Stream stream(Device::cpu());
  return ConvVerifier(Conv2dProblem::parse(problem))
      .verify(SabotagedBackend(sabotage), MathMode::kFp32, stream);
}

void run_correctly(const KernelRun& run) { run.correctly(); }

TEST(ConvVerifier, PassesARightBackend) {
  const VerifyResult result = verify(run_correctly);
  EXPECT_TRUE(result.passed) << result.reason;
  EXPECT_EQ(result.reason, "");
  // Three fills, each with and without bias and ReLU, all outputs.
  EXPECT_EQ(result.checked, 3 * 4 * 3 * 5 * 9 * 9);
  EXPECT_GT(result.bound, 0);
  EXPECT_LE(result.max_abs, result.bound * 100);
}

/// A run with one fault, and the verifier's message.
struct Wrong {
  const char* name;
  const char* because;
  Sabotage sabotage;
};
std::ostream& operator<<(std::ostream& out, const Wrong& wrong) { return out << wrong.name; }

int stale_runs, unstable_runs;  // the kernel differs from run to run

const Wrong kWrong[] = {
    {"OneElement", "1 of",
     [](const KernelRun& run) {
       run.correctly();
       run.args.y[run.problem.output_shape().num_elements() / 2] += 1.0f;
     }},
    // Exact on integers, wrong by 1 in 1,000 otherwise: only random data detects it.
    {"ASmallError", "random",
     [](const KernelRun& run) {
       run.correctly();
       if (*run.last() != std::nearbyint(*run.last())) *run.last() *= 1.001f;
     }},
    {"Nan", "nan",
     [](const KernelRun& run) {
       run.correctly();
       run.args.y[0] = NAN;
     }},
    {"OutputNeverWritten", "differ", [](const KernelRun&) {}},
    {"OneElementNotWritten", "differ",
     [](const KernelRun& run) {
       const float before = *run.last();
       run.correctly();
       *run.last() = before;
     }},
    {"WritesBehindTheOutput", "wrote past the end of block 1",
     [](const KernelRun& run) {
       run.correctly();
       run.last()[1] = 0.0f;
     }},
    // The canaries of the first run are NaN, those of the second are not.
    {"NanBehindTheOutput", "wrote past the end of block 1",
     [](const KernelRun& run) {
       run.correctly();
       std::memset(run.last() + 1, kNanByte, sizeof(float));
     }},
    {"WritesBeforeTheOutput", "wrote past the end of block 0",
     [](const KernelRun& run) {
       run.correctly();
       run.args.y[-1] = 0.0f;
     }},
    {"WritesBehindTheWorkspace", "wrote past the end of block 2",
     [](const KernelRun& run) {
       run.correctly();
       static_cast<unsigned char*>(run.context.workspace)[run.kernel.workspace_bytes() + 64] = 0;
     }},
    {"AChangedInput", "changed its input",
     [](const KernelRun& run) {
       run.correctly();
       const_cast<float*>(run.args.x)[0] += 1.0f;
     }},
    // Computes once and then keeps the output unchanged.
    {"StaleOutput", "differ",
     [](const KernelRun& run) {
       if (stale_runs++ == 0) run.correctly();
     }},
    {"UseOfUnwrittenWorkspace", "differ",
     [](const KernelRun& run) {
       const unsigned char garbage = *static_cast<unsigned char*>(run.context.workspace);
       run.correctly();
       run.args.y[0] += garbage == kNanByte ? 1.0f : 2.0f;
     }},
    {"AnUnstableResult", "two runs differ",
     [](const KernelRun& run) {
       run.correctly();
       run.args.y[3] = std::nextafter(run.args.y[3], ++unstable_runs % 2 ? 1e30f : -1e30f);
     }},
    // Computes only the first sample of a batch, and repeats it.
    {"ASharedImage", "elements differ",
     [](const KernelRun& run) {
       run.correctly();
       const int64_t outputs = run.problem.output_shape().num_elements(), image = outputs / run.problem.n;
       for (int64_t i = image; i < outputs; ++i) run.args.y[i] = run.args.y[i % image];
     }},
};

class ConvVerifierCatches : public testing::TestWithParam<Wrong> {};

TEST_P(ConvVerifierCatches, It) {
  stale_runs = unstable_runs = 0;
  const VerifyResult result = verify(GetParam().sabotage);
  EXPECT_FALSE(result.passed);
  EXPECT_NE(result.reason.find(GetParam().because), std::string::npos) << result.reason;
}

INSTANTIATE_TEST_SUITE_P(Wrong, ConvVerifierCatches, testing::ValuesIn(kWrong), ByName());

/// A backend with a large bound whose kernel has a smaller one.
class CarefulChoice : public SabotagedBackend {
 public:
  CarefulChoice(Sabotage sabotage, bool tells) : SabotagedBackend(std::move(sabotage)), tells_(tells) {}
  ConvAccuracy accuracy(const Conv2dProblem&, MathMode) const override {
    ConvAccuracy loose;
    loose.constant = 1e6;
    loose.exact_on_integers = false;
    loose.by_image_maximum = true;
    return loose;
  }

 private:
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    struct Kernel : WrappedKernel {
      using WrappedKernel::WrappedKernel;
      std::optional<ConvAccuracy> told;
      std::optional<ConvAccuracy> accuracy() const override { return told; }
    };
    auto kernel = std::make_unique<Kernel>(SabotagedBackend::make_kernel(request));
    if (tells_) kernel->told = accuracy_of_sums(request.problem, request.math);
    return kernel;
  }

  bool tells_;
};

// A kernel is held to its own bound, not to the worst of its backend.
TEST(ConvVerifier, HoldsAChoiceToItsOwnBound) {
  const Sabotage spoil = [](const KernelRun& run) {
    run.correctly();
    run.args.y[0] += 1e-3f;
  };
  const ConvVerifier verifier(Conv2dProblem::parse("mb3ic3ih9oc5kh3ph1"));
  Stream stream(Device::cpu());
  EXPECT_TRUE(verifier.verify(CarefulChoice(spoil, false), MathMode::kFp32, stream).passed);
  EXPECT_FALSE(verifier.verify(CarefulChoice(spoil, true), MathMode::kFp32, stream).passed);
  EXPECT_TRUE(verifier.verify(CarefulChoice(run_correctly, true), MathMode::kFp32, stream).passed);
}

/// Accepts any math mode, and computes in fp32.
class AnyMathBackend : public SabotagedBackend {
 public:
  using SabotagedBackend::SabotagedBackend;
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    return accuracy_of_sums(problem, math);
  }

 private:
  Support do_supports(const Conv2dProblem&, MathMode) const override { return Support::yes(); }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    ConvPrepare in_fp32 = request;
    in_fp32.math = MathMode::kFp32;
    return SabotagedBackend::make_kernel(in_fp32);
  }
};

// Tensor cores truncate operands once per product: the more terms, the smaller the accepted share of the sum.
TEST(ConvVerifier, CatchesASmallErrorAlsoInTf32) {
  const auto off_by = [](float error) {
    return [error](const KernelRun& run) {
      run.correctly();
      if (run.args.y[0] != std::nearbyint(run.args.y[0])) run.args.y[0] += error;
    };
  };
  // 2,304 products of uniform values: magnitudes around 576, of which 2^-9 are 1.1.
  const ConvVerifier verifier(Conv2dProblem::parse("mb1ic256ih4oc2kh3"));
  Stream stream(Device::cpu());
  for (MathMode math : {MathMode::kTf32, MathMode::kFp16}) {
    EXPECT_TRUE(verifier.verify(AnyMathBackend(off_by(0.1f)), math, stream).passed) << to_string(math);
    const VerifyResult result = verifier.verify(AnyMathBackend(off_by(2.0f)), math, stream);
    EXPECT_FALSE(result.passed) << to_string(math);
    EXPECT_NE(result.reason.find("random"), std::string::npos) << result.reason;
  }
}

TEST(ConvAccuracy, GrowsWithTheTermsForSumsAlone) {
  const Conv2dProblem few = Conv2dProblem::parse("ic1ih8oc1kh1"),
                      many = Conv2dProblem::parse("ic512ih8oc1kh3");
  for (MathMode math : {MathMode::kTf32, MathMode::kFp16}) {
    const double small = accuracy_of_sums(few, math).factor(conv_terms(few)),
                 large = accuracy_of_sums(many, math).factor(conv_terms(many));
    EXPECT_LT(large, 2 * small) << to_string(math);
    EXPECT_GT(small, 0x1p-10) << to_string(math);
  }
  EXPECT_EQ(accuracy_of_sums(many, MathMode::kFp32).product_error, 0);
  // 160,000 terms are the limit of the usual 1.01; beyond, the constant widens.
  EXPECT_EQ(accuracy_of_sums(many, MathMode::kFp32).constant, 1.01);
  EXPECT_GT(accuracy_of_sums(Conv2dProblem::parse("ic1000ih999oc1kh999"), MathMode::kFp32).constant, 1.05);
}

/// Reads and writes elements of 16 bits, and computes in fp32; `spoil` gets the sums and the output's elements.
class HalfBackend : public SabotagedBackend {
 public:
  using Spoil = std::function<void(ElementType, const std::vector<float>& sums, uint16_t* y)>;
  explicit HalfBackend(Spoil spoil) : SabotagedBackend(run_correctly), spoil_(std::move(spoil)) {}
  bool takes(ElementType type) const override { return type.bits() == 16; }
  ConvAccuracy accuracy(const Conv2dProblem& problem, MathMode math) const override {
    return accuracy_of_sums(problem, math);
  }

 private:
  Support do_supports(const Conv2dProblem&, MathMode) const override { return Support::yes(); }
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    struct Kernel : WrappedKernel {
      Kernel(std::unique_ptr<ConvKernel> kernel, const Conv2dProblem& of, const Spoil& how)
          : WrappedKernel(std::move(kernel)), problem(of), spoil(how) {}
      std::optional<ConvAccuracy> accuracy() const override { return std::nullopt; }
      void convolve(const ConvArgs& args, RunContext& context) override {
        std::vector<float> x(static_cast<size_t>(problem.input_shape().num_elements())),
            y(static_cast<size_t>(problem.output_shape().num_elements()));
        load_floats(problem.type, args.x, static_cast<int64_t>(x.size()), x.data());
        right().convolve({x.data(), y.data()}, context);
        store_floats(problem.type, y.data(), static_cast<int64_t>(y.size()), args.y);
        spoil(problem.type, y, reinterpret_cast<uint16_t*>(args.y));
      }
      Conv2dProblem problem;
      const Spoil& spoil;
    };
    Conv2dProblem in_fp32 = request.problem;
    in_fp32.type = ElementType::kFp32;
    DevicePrepareServices services(request.stream);
    auto kernel = find_conv_backend(DeviceKind::kCpu, "direct")
                      .open()
                      .prepare({in_fp32, request.math, request.weights, request.bias, request.rectifier,
                                SIZE_MAX, services, request.stream});
    return std::make_unique<Kernel>(std::move(kernel), request.problem, spoil_);
  }

  Spoil spoil_;
};

// The bound follows from the stored numbers: an output is one rounding from the sum, to the nearest, and where sums are
// exact it is that number. An odd count of elements: the last one shares its four bytes with nothing.
TEST(ConvVerifier, HoldsStoredHalvesToOneRounding) {
  Stream stream(Device::cpu());
  for (const ElementType type : {ElementType::kFp16, ElementType::kBf16}) {
    SCOPED_TRACE(type.name());
    Conv2dProblem problem = Conv2dProblem::parse("mb3ic3ih9oc5kh3ph1");
    problem.type = type;
    const ConvVerifier verifier(problem);
    const auto verdict = [&](const HalfBackend::Spoil& spoil) {
      const VerifyResult result = verifier.verify(HalfBackend(spoil), MathMode::kFp32, stream);
      EXPECT_EQ(result.passed, result.reason.empty());
      return result.reason;
    };
    EXPECT_EQ(verdict([](auto, const auto&, uint16_t*) {}), "");
    const struct {
      const char* because;
      HalfBackend::Spoil spoil;
    } kFaults[] = {
        // Towards zero instead of to the nearest.
        {"elements differ",
         [](ElementType stored, const std::vector<float>& sums, uint16_t* y) {
           for (size_t i = 0; i < sums.size(); ++i) {
             float value;
             load_floats(stored, y + i, 1, &value);
             if (std::fabs(value) > std::fabs(sums[i])) --y[i];
           }
         }},
        // The next number but one.
        {"elements differ", [](auto, const auto&, uint16_t* y) { y[0] = static_cast<uint16_t>(y[0] + 2); }},
        {"wrote past the end of block 1", [](auto, const auto& sums, uint16_t* y) { y[sums.size()] = 0; }},
        {"wrote past the end of block 0", [](auto, const auto&, uint16_t* y) { y[-1] = 0; }},
        {"found nan at 404", [](auto, const auto&, uint16_t* y) { y[404] = 0x7fff; }},
        {"two runs differ at 404",
         [runs = 0](auto, const auto&, uint16_t* y) mutable { y[404] ^= ++runs % 2 == 0; }},
    };
    for (const auto& fault : kFaults)
      EXPECT_NE(verdict(fault.spoil).find(fault.because), std::string::npos) << verdict(fault.spoil);
  }
}

TEST(ConvAccuracy, CountsTheRoundingsOfStoredHalves) {
  Conv2dProblem problem = Conv2dProblem::parse("mb1ic2ih4oc1kh1");
  const auto allowed = [&](ElementType type, int storings) {
    problem.type = type;
    const ConvJudge judge(problem, reference::Fill::kRandom, 1, 1 << 20);
    const ConvCase data = judge.make_case(1);
    ConvAccuracy accuracy = accuracy_of_sums(problem, MathMode::kFp32);
    accuracy.storings = storings;
    std::vector<float> y;
    for (const ConvCase::Sample& sample : data.samples) {
      EXPECT_EQ(static_cast<size_t>(sample.index), y.size());
      y.push_back(rounded_to(type, static_cast<float>(sample.term.value)));
    }
    const reference::Comparison found = judge.compare(data, y, accuracy, false, {});
    EXPECT_TRUE(found.passed()) << found.reason();
    return found.bound();
  };
  EXPECT_LT(allowed(ElementType::kFp32, 1), 0x1p-20);
  const double fp16 = allowed(ElementType::kFp16, 1), bf16 = allowed(ElementType::kBf16, 1);
  EXPECT_LT(fp16, 3 * kUnitFp16);  // sums of two products below 1
  EXPECT_LT(bf16, 3 * kUnitBf16);
  EXPECT_GT(bf16, fp16);
  EXPECT_GT(allowed(ElementType::kFp16, 2), fp16);
}

TEST(ConvVerifier, CatchesAFlippedKernel) {
  // True convolution instead of cross-correlation, along one axis.
  class Flipped : public SabotagedBackend {
   public:
    Flipped() : SabotagedBackend(run_correctly) {}
    std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
      const auto count = static_cast<size_t>(request.problem.weight_shape().num_elements());
      const auto s = static_cast<size_t>(request.problem.s);
      std::vector<float> flipped(count);
      for (size_t i = 0; i < count; ++i) flipped[i] = request.weights[i - i % s + (s - 1 - i % s)];
      ConvPrepare changed = request;
      changed.weights = flipped.data();
      return SabotagedBackend::make_kernel(changed);
    }
  };
  Stream stream(Device::cpu());
  const VerifyResult result =
      ConvVerifier(Conv2dProblem::parse("mb1ic1ih6oc1kh3")).verify(Flipped(), MathMode::kFp32, stream);
  EXPECT_FALSE(result.passed);
}

TEST(ConvVerifier, CatchesAMissingRelu) {
  class NoRelu : public SabotagedBackend {
   public:
    NoRelu() : SabotagedBackend(run_correctly) {}
    std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
      ConvPrepare changed = request;
      changed.rectifier = {};
      return SabotagedBackend::make_kernel(changed);
    }
  };
  Stream stream(Device::cpu());
  const VerifyResult result =
      ConvVerifier(Conv2dProblem::parse("mb1ic1ih6oc1kh3")).verify(NoRelu(), MathMode::kFp32, stream);
  EXPECT_FALSE(result.passed);
  EXPECT_NE(result.reason.find("ReLU"), std::string::npos) << result.reason;
}

/// Fuses LeakyReLU or Clip, the other not, nor ReLU, and forgets to apply it.
class ForgetsOneKind : public SabotagedBackend {
 public:
  explicit ForgetsOneKind(bool leaky) : SabotagedBackend(run_correctly), leaky_(leaky) {}
  bool fuses_rectifier(const Rectifier& rectifier) const override {
    return leaky_ ? rectifier.slope > 0 && std::isinf(rectifier.ceiling)
                  : rectifier.slope == 0 && std::isfinite(rectifier.ceiling);
  }

 private:
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    ConvPrepare changed = request;
    changed.rectifier = {};
    return SabotagedBackend::make_kernel(changed);
  }

  bool leaky_;
};

// A backend may fuse LeakyReLU and no Clip, or Clip and no LeakyReLU.
TEST(ConvVerifier, CatchesTheOnlyKindOfRectifierThatABackendFuses) {
  Stream stream(Device::cpu());
  const ConvVerifier verifier(Conv2dProblem::parse("mb1ic1ih6oc1kh3"));
  const VerifyResult leaky = verifier.verify(ForgetsOneKind(true), MathMode::kFp32, stream);
  EXPECT_NE(leaky.reason.find("max(x, 0.25 * x)"), std::string::npos) << leaky.reason;
  const VerifyResult clip = verifier.verify(ForgetsOneKind(false), MathMode::kFp32, stream);
  EXPECT_NE(clip.reason.find("min(max(x, 0), 0.5)"), std::string::npos) << clip.reason;
}

/// Pools other windows than requested, or none.
class OtherWindow : public SabotagedBackend {
 public:
  explicit OtherWindow(std::optional<Pool2dWindow> window)
      : SabotagedBackend(run_correctly), window_(window) {}

 private:
  std::unique_ptr<ConvKernel> make_kernel(const ConvPrepare& request) const override {
    ConvPrepare changed = request;
    changed.max_pool = window_;
    return SabotagedBackend::make_kernel(changed);
  }

  std::optional<Pool2dWindow> window_;
};

VerifyResult verify_pooled(const ConvBackend& backend, const Pool2dWindow& window) {
  ConvVerifyOptions options;
  options.max_pool = window;
  Stream stream(Device::cpu());
  return ConvVerifier(Conv2dProblem::parse("mb3ic3ih10oc5kh3ph1"), options)
      .verify(backend, MathMode::kFp32, stream);
}

TEST(ConvVerifier, PassesARightPooling) {
  const VerifyResult result = verify_pooled(SabotagedBackend(run_correctly), Pool2dWindow::square(3, 2, 1));
  EXPECT_TRUE(result.passed) << result.reason;
  EXPECT_EQ(result.checked, 3 * 4 * 3 * 5 * 5 * 5);
  EXPECT_LE(result.max_abs, result.bound * 100);
}

TEST(ConvVerifier, CatchesAnotherWindow) {
  const Pool2dWindow halves = Pool2dWindow::square(2, 2);
  EXPECT_TRUE(verify_pooled(OtherWindow(halves), halves).passed);
  // Each has 5 x 5 windows of 10 x 10 outputs, like the correct one: one value, an overlap, a shifted window.
  for (const Pool2dWindow& other :
       {Pool2dWindow{1, 1, 2, 2, 0, 0}, Pool2dWindow{3, 2, 2, 2, 1, 0}, Pool2dWindow{2, 1, 2, 2, 0, 0}}) {
    const VerifyResult result = verify_pooled(OtherWindow(other), halves);
    EXPECT_FALSE(result.passed);
    EXPECT_NE(result.reason.find("max pool 2x2 stride 2x2 pad 0x0"), std::string::npos) << result.reason;
  }
  // Without pooling it writes beyond the output.
  const VerifyResult result = verify_pooled(OtherWindow(std::nullopt), halves);
  EXPECT_FALSE(result.passed);
  EXPECT_NE(result.reason.find("wrote past the end of block 1"), std::string::npos) << result.reason;
}

TEST(ConvVerifier, CatchesAMaximumThatBeginsAtZero) {
  const SabotagedBackend begins_at_zero([](const KernelRun& run) {
    run.correctly();
    for (int64_t i = 0; i < run.problem.n * run.problem.k * 25; ++i)
      run.args.y[i] = std::max(run.args.y[i], 0.0f);
  });
  const VerifyResult result = verify_pooled(begins_at_zero, Pool2dWindow::square(2, 2));
  EXPECT_FALSE(result.passed);
  EXPECT_EQ(result.reason.find("ReLU"), std::string::npos) << result.reason;
}

TEST(ConvVerifier, CatchesASmallErrorOfAMaximum) {
  const SabotagedBackend off([](const KernelRun& run) {
    run.correctly();
    if (run.args.y[7] != std::nearbyint(run.args.y[7])) run.args.y[7] *= 1.001f;
  });
  const VerifyResult result = verify_pooled(off, Pool2dWindow::square(2, 2));
  EXPECT_FALSE(result.passed);
  EXPECT_NE(result.reason.find("random"), std::string::npos) << result.reason;
}

TEST(ConvVerifier, PassesOnARefusalToPool) {
  ConvVerifyOptions options;
  options.max_pool = Pool2dWindow::square(2, 2);
  Stream stream(Device::cpu());
  EXPECT_THROW(
      ConvVerifier(Conv2dProblem::parse("mb1ic1ih6oc1kh3"), options)
          .verify(find_conv_backend(DeviceKind::kCpu, "im2col_gemm").open(), MathMode::kFp32, stream),
      UnavailableError);
}

TEST(ConvVerifier, JudgesASampleOfALargeProblem) {
  ConvVerifyOptions options;
  options.max_reference_macs = 28 * 1000;
  options.bias_and_relu = false;
  Stream stream(Device::cpu());
  const ConvVerifier verifier(Conv2dProblem::parse("mb1ic3ih64oc8kh3"), options);
  const VerifyResult result =
      verifier.verify(find_conv_backend(DeviceKind::kCpu, "direct").open(), MathMode::kFp32, stream);
  EXPECT_TRUE(result.passed) << result.reason;
  EXPECT_LE(result.checked, 3 * 1000);
  EXPECT_GT(result.checked, 3 * 900);
}

// A caller can interrupt the reference of a large problem.
TEST(ConvJudge, EndsWhenItIsInterrupted) {
  const ConvJudge judge(Conv2dProblem::parse("mb1ic3ih64oc3kh3ph1"), reference::Fill::kRandom, 1,
                        int64_t{1} << 25);
  stop_when([] { return true; });
  EXPECT_THROW(judge.make_case(1), InterruptedError);
  stop_when(nullptr);
  EXPECT_EQ(judge.make_case(1).samples.size(), 3u * 64 * 64);
}

// A backend that times candidates while it prepares stops before the next window, even if each takes minutes.
TEST(DevicePrepareServices, StopTimingWhenTheyAreInterrupted) {
  Stream stream(Device::cpu());
  DevicePrepareServices services(stream);
  static int runs;
  runs = 0;
  stop_when([] { return runs >= 2; });
  EXPECT_THROW(services.time_ns([] { ++runs; }), InterruptedError);
  stop_when(nullptr);
  EXPECT_EQ(runs, 2);
  EXPECT_GE(services.time_ns([] { ++runs; }), 0);
  EXPECT_GT(runs, 4);
}

// With pooling and with fewer judged outputs than there are: the same as computed for NHWC.
TEST(ConvJudge, MovesACaseToNhwc) {
  for (const char* text : {"mb3ic3ih10oc5kh3ph1", "mb2ic3ih64oc8oh31kh3sh2"}) {
    Conv2dProblem problem = Conv2dProblem::parse(text);
    const auto judge_of = [&] {
      return ConvJudge(problem, reference::Fill::kRandom, 1, 28 * 9000, Pool2dWindow::square(2, 2));
    };
    const ConvJudge nchw = judge_of();
    problem.layout = TensorLayout::kNhwc;
    const ConvCase expected = judge_of().make_case(7), moved = nchw.in_nhwc(nchw.make_case(7));
    EXPECT_EQ(moved.x, expected.x);
    EXPECT_EQ(moved.image_maximum, expected.image_maximum);
    ASSERT_EQ(moved.samples.size(), expected.samples.size());
    for (size_t i = 0; i < moved.samples.size(); ++i) {
      ASSERT_EQ(moved.samples[i].index, expected.samples[i].index) << text << " " << i;
      ASSERT_EQ(moved.samples[i].term.value, expected.samples[i].term.value) << text << " " << i;
    }
    EXPECT_EQ(nchw.in_nhwc().make_case(7).x, expected.x);
  }
}

TEST(ConvVerifier, PassesOnARefusal) {
  Stream stream(Device::cpu());
  EXPECT_THROW(ConvVerifier(Conv2dProblem::parse("mb1ic1ih6oc1kh3"))
                   .verify(find_conv_backend(DeviceKind::kCpu, "direct").open(), MathMode::kFp16, stream),
               UnavailableError);
}

}  // namespace
}  // namespace lenslet
