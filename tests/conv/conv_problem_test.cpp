// Conv2dProblem: output sizes compared with two oracles, round trips of problem strings, and every refusal with its
// reason.
#include "layers/conv/conv_problem.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "framework/base/error.h"
#include "layers/conv/conv_registry.h"
#include "layers/reference/reference.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

template <typename... Parts>
void expect_refused(const std::string& text, const Parts&... parts) {
  SCOPED_TRACE(text);
  expect_error<UsageError>([&] { Conv2dProblem::parse(text); }, parts...);
}

// The bias stays fp32.
TEST(ConvProblem, CountsTheBytesOfItsType) {
  Conv2dProblem problem = Conv2dProblem::parse("mb2ic3ih5oc7kh3");
  const double numbers = 2 * 3 * 5 * 5 + 7 * 3 * 3 * 3 + 2 * 7 * 3 * 3;
  EXPECT_EQ(problem.bytes(), 4 * numbers + 4 * 7);
  EXPECT_EQ(problem.bytes_of_tensor(problem.input_shape()), 4u * 2 * 3 * 5 * 5);
  const Conv2dProblem fp32 = problem;
  for (const ElementType type : {ElementType::kFp16, ElementType::kBf16}) {
    problem.type = type;
    EXPECT_EQ(problem.bytes(), 2 * numbers + 4 * 7);
    EXPECT_EQ(problem.bytes_of_tensor(problem.input_shape()), 2u * 2 * 3 * 5 * 5);
    EXPECT_FALSE(problem == fp32);
    EXPECT_EQ(rate_of(type, MathMode::kFp32), MathMode::kFp16);
  }
  EXPECT_EQ(rate_of(ElementType::kFp32, MathMode::kTf32), MathMode::kTf32);
}

TEST(ConvProblem, OutputSizeAgreesWithCountingAndWithPyTorchsFormula) {
  for (int in = 1; in <= 13; ++in) {
    for (int filter = 1; filter <= 6; ++filter) {
      for (int stride = 1; stride <= 4; ++stride) {
        for (int pad = 0; pad <= 4; ++pad) {
          for (int dilation = 1; dilation <= 3; ++dilation) {
            Conv2dProblem problem;
            problem.c = problem.k = 1;
            problem.h = in;
            problem.r = filter;
            problem.stride_h = stride;
            problem.pad_h = pad;
            problem.dilation_h = dilation;
            // The width uses the same formula with other fields.
            problem.w = in;
            problem.s = filter;
            problem.stride_w = stride;
            problem.pad_w = pad;
            problem.dilation_w = dilation;
            const int counted = static_cast<int>(reference::output_rows(problem));
            // The formula of torch.nn.Conv2d's documentation, in floating point.
            const double formula =
                std::floor((in + 2.0 * pad - dilation * (filter - 1.0) - 1.0) / stride + 1.0);
            EXPECT_EQ(problem.p(), counted);
            EXPECT_EQ(problem.q(), counted);
            if (formula >= 1) {
              EXPECT_EQ(counted, static_cast<int>(formula));
              EXPECT_NO_THROW(problem.check());
            } else {
              EXPECT_LT(problem.p(), 1);
              EXPECT_THROW(problem.check(), UsageError);
            }
          }
        }
      }
    }
  }
}

TEST(ConvProblem, ReadsAndWritesTheCanonicalForm) {
  for (const char* text : {
           "mb1ic1ih28oc6oh24kh5n\"conv1\"",
           "mb1ic6ih12oc16oh8kh5n\"conv2\"",
           "mb1ic3ih256oc3oh256kh3ph1",
           "mb1ic3ih256oc3oh128kh3sh2ph1",
           "mb1ic3ih256oc3oh86kh3sh3ph1",
           "g2mb3ic4ih14iw9oc6oh14ow9kh3ph1",
           "mb2ic3ih25iw21oc8oh12ow6kh3kw2sh2sw3ph1pw0dh1dw3",
           "g8mb1ic8ih15oc8oh15kh3ph1",
       }) {
    EXPECT_EQ(Conv2dProblem::parse(text).to_string(), text);
  }
  // Short forms, any order.
  EXPECT_EQ(Conv2dProblem::parse("ic1ih28oc6kh5").to_string(), "mb1ic1ih28oc6oh24kh5");
  EXPECT_EQ(Conv2dProblem::parse("kh5oc6ih28ic1mb1").to_string(), "mb1ic1ih28oc6oh24kh5");
  EXPECT_EQ(Conv2dProblem::parse("ic1ih28oc6kh5nconv1").name, "conv1");
  EXPECT_EQ(Conv2dProblem::parse("ic1ih28oc6kh5n\"res2a_branch1*1\"").name, "res2a_branch1*1");
  const Conv2dProblem dilated = Conv2dProblem::parse("ic1ih28oc6kh5dh1");
  EXPECT_EQ(dilated.dilation_h, 2);
  EXPECT_EQ(dilated.dilation_w, 2);
  EXPECT_EQ(dilated.p(), 20);
}

// benchdnn refuses a width without a filter width, and would take a padding of -1 for a stride that leaves inputs out.
TEST(ConvProblem, WritesBothDirectionsForBenchdnn) {
  EXPECT_EQ(Conv2dProblem::parse("ic4ih14iw9oc6kh3ph1n\"x\"").to_benchdnn(),
            "mb1ic4ih14iw9oc6oh14ow9kh3kw3ph1pw1n\"x\"");
  EXPECT_EQ(Conv2dProblem::parse("ic4ih28oc6kh1sh4").to_benchdnn(),
            "mb1ic4ih28iw28oc6oh7ow7kh1kw1sh4sw4ph0pw0");
}

TEST(ConvProblem, EveryFieldReachesItsPlace) {
  const Conv2dProblem p = Conv2dProblem::parse("g2mb3ic4ih30iw31oc6kh3kw5sh2sw3ph1pw4dh1dw2");
  EXPECT_EQ(p.groups, 2);
  EXPECT_EQ(p.n, 3);
  EXPECT_EQ(p.c, 4);
  EXPECT_EQ(p.h, 30);
  EXPECT_EQ(p.w, 31);
  EXPECT_EQ(p.k, 6);
  EXPECT_EQ(p.r, 3);
  EXPECT_EQ(p.s, 5);
  EXPECT_EQ(p.stride_h, 2);
  EXPECT_EQ(p.stride_w, 3);
  EXPECT_EQ(p.pad_h, 1);
  EXPECT_EQ(p.pad_w, 4);
  EXPECT_EQ(p.dilation_h, 2);
  EXPECT_EQ(p.dilation_w, 3);
  EXPECT_EQ(p, Conv2dProblem::parse(p.to_string()));
}

std::string canonical(const std::string& text) { return Conv2dProblem::parse(text).to_string(); }

TEST(ConvProblem, AcceptsWhatBenchdnnAccepts) {
  // `_` between fields, a field repeated, a name with any characters, an empty one.
  EXPECT_EQ(canonical("g1_mb2_ic3oc16_ih5oh5_kh3kh3_ph1_n\"a:b/c *1 #2\""),
            "mb2ic3ih5oc16oh5kh3ph1n\"a:b/c *1 #2\"");
  EXPECT_EQ(canonical("ic3ih5oc4kh3nplain:1_x"), "mb1ic3ih5oc4oh3kh3n\"plain:1_x\"");
  EXPECT_EQ(canonical("ic3ih5oc4kh3n"), "mb1ic3ih5oc4oh3kh3");
  EXPECT_EQ(canonical("ic3ih5oc4kh3n\"\""), "mb1ic3ih5oc4oh3kh3");
  EXPECT_EQ(Conv2dProblem::parse("ic3ih5oc4kh3n\"a\tb\"").name, "a\\tb");
  // A missing height or width copies the other; padding only where it gives the output size.
  EXPECT_EQ(canonical("ic3ih9iw1oc4oh9ow1kh3kw1ph1"), "mb1ic3ih9iw1oc4oh9ow1kh3kw1ph1pw0");
  EXPECT_EQ(canonical("ic3ih5iw9oc4kw3"), "mb1ic3ih5iw9oc4oh3ow7kh3");
  EXPECT_EQ(canonical("ic3iw9oc4kh3kw5"), "mb1ic3ih9oc4oh7ow5kh3kw5");
  EXPECT_EQ(canonical("ic3ih9iw9oc4kw3sw2pw1"), "mb1ic3ih9oc4oh5kh3sh2ph1");
  // One dimension: the other has one row and no stride, padding or dilation.
  EXPECT_EQ(canonical("g2ic4iw9oc4ow5kw3sw2pw1dw0"), "g2mb1ic4ih1iw9oc4oh1ow5kh1kw3sh1sw2ph0pw1");
  EXPECT_EQ(canonical("ic4iw9sh1ph0oc4kw3"), "mb1ic4ih1iw9oc4oh1ow7kh1kw3");
  // A depth of one.
  EXPECT_EQ(canonical("ic4id1ih9oc4od1kd1kh3sd2pd0dd1"), "mb1ic4ih9oc4oh7kh3");
}

TEST(ConvProblem, RefusesThreeDimensions) {
  for (const char* text : {"ic3oc4id5kd3", "ic3oc4id5ih5oc4kd3kh3pd1ph1", "ic3ih5oc4id1kd3pd1kh3"}) {
    expect_error<UnavailableError>([&] { Conv2dProblem::parse(text); }, "3-D convolution");
  }
}

TEST(ConvProblem, TheOutputSizeDecidesThePadding) {
  // Without padding half of the zeros that the output needs go before the input.
  EXPECT_EQ(canonical("ic3ih256oc3oh256kh3"), "mb1ic3ih256oc3oh256kh3ph1");
  EXPECT_EQ(canonical("ic3ih9iw7oc3oh9ow7kh3kw5"), "mb1ic3ih9iw7oc3oh9ow7kh3kw5ph1pw2");
  EXPECT_EQ(canonical("ic3ih28oc3oh13kh3sh2"), "mb1ic3ih28oc3oh13kh3sh2");
  const auto after = [](const char* text) {
    const Conv2dProblem problem = Conv2dProblem::parse(text);
    EXPECT_EQ(Conv2dProblem::parse(problem.to_string()), problem) << problem.to_string();
    EXPECT_EQ(Conv2dProblem::parse(problem.to_string()).to_string(), problem.to_string());
    EXPECT_TRUE(problem.asymmetric()) << text;
    return std::pair(problem.pad_h + problem.more_pad_h, problem.pad_w + problem.more_pad_w);
  };
  EXPECT_EQ(after("ic3ih300oc32oh150kh3sh2"), std::pair(1, 1));
  EXPECT_EQ(after("ic32oc32_ih7oh11kh3ph2"), std::pair(4, 4));
  EXPECT_EQ(after("ic64ih31iw1oc64oh32ow1kh1kw1ph0pw0"), std::pair(1, 0));
  EXPECT_EQ(after("ic16ih1iw1oc16oh2ow1kh3kw1dh1ph1"), std::pair(4, 0));
  EXPECT_EQ(after("ic3ih28oc3oh26kh5ph0"), std::pair(2, 2));
  // Fewer zeros after than before, down to a stride of inputs that no output reads.
  EXPECT_EQ(after("ic16ih7iw1oc16oh1ow1kh11kw1sh2sw1ph5pw0"), std::pair(-1, 0));
  EXPECT_EQ(after("ic1ih28oc6oh23kh5"), std::pair(-1, -1));
  // Sizes that need no asymmetry have none.
  EXPECT_FALSE(Conv2dProblem::parse("ic9oc3_ih32oh10kh5sh3dh0ph1").asymmetric());
  EXPECT_FALSE(Conv2dProblem::parse("ic3ih10oc3oh9kh2sh2ph4").asymmetric());
}

TEST(ConvProblem, CountsTheOutputsOfAsymmetricPadding) {
  for (int in = 1; in <= 9; ++in) {
    for (int out = 1; out <= 12; ++out) {
      for (int filter = 1; filter <= 4; ++filter) {
        for (int stride = 1; stride <= 3; ++stride) {
          for (int pad = 0; pad <= 2; ++pad) {
            const std::string text = concat("ic1ih", in, "oc1oh", out, "kh", filter, "sh", stride, "ph", pad);
            const int needed_after = (out - 1) * stride + filter - in - pad;
            const reference::PoolWindow window{filter, 1, stride, 1, pad, 0};
            if (needed_after < -stride && reference::pooled_rows(in, window) != out) {
              EXPECT_THROW(Conv2dProblem::parse(text), UsageError) << text;
              continue;
            }
            const Conv2dProblem problem = Conv2dProblem::parse(text);
            EXPECT_EQ(problem.p(), out) << text;
            EXPECT_EQ(problem.q(), out) << text;
            EXPECT_EQ(reference::output_rows(problem), out) << text;
          }
        }
      }
    }
  }
}

TEST(ConvProblem, CountsWork) {
  const Conv2dProblem conv1 = Conv2dProblem::parse("ic1ih28oc6kh5"),
                      conv2 = Conv2dProblem::parse("ic6ih12oc16kh5");
  EXPECT_EQ(conv1.flops(), 2 * 86400);
  EXPECT_EQ(conv2.flops(), 2 * 153600);
  EXPECT_EQ(conv1.bytes(), 4.0 * (784 + 150 + 6 + 3456));
  EXPECT_EQ(Conv2dProblem::parse("g2ic4ih3oc2kh3").flops(), 2.0 * 2 * 2 * 9);
}

// Which of `size` rows or columns the windows read.
int64_t cells_read_one_by_one(int64_t size, int64_t count, const WindowDirection& windows) {
  std::set<int64_t> read;
  for (int64_t window = 0; window < count; ++window) {
    for (int64_t cell = 0; cell < windows.size; ++cell) {
      const int64_t at = window * windows.stride + cell * windows.dilation - windows.pad;
      if (at >= 0 && at < size) read.insert(at);
    }
  }
  return static_cast<int64_t>(read.size());
}

TEST(ConvProblem, CountsTheRowsThatWindowsRead) {
  int64_t skipping = 0;
  for (int size = 1; size <= 14; ++size) {
    for (WindowDirection windows; windows.size <= 5; ++windows.size) {
      for (windows.stride = 1; windows.stride <= 6; ++windows.stride) {
        for (windows.dilation = 1; windows.dilation <= 6; ++windows.dilation) {
          for (windows.pad = 0; windows.pad <= 3; ++windows.pad) {
            for (int64_t count = 0; count <= size + 2 * windows.pad; ++count) {
              const int64_t expected = cells_read_one_by_one(size, count, windows);
              ASSERT_EQ(windows.cells_read(size, count), expected)
                  << size << " cells, " << count << " windows of " << windows.size << " at stride "
                  << windows.stride << ", dilation " << windows.dilation << ", padding " << windows.pad;
              skipping += expected < size;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(skipping, 1000);
}

TEST(ConvProblem, CountsNoValueThatNoWindowReads) {
  const Conv2dProblem every = Conv2dProblem::parse("mb2ic3ih9iw5oc4oh9ow5kh3ph1");
  EXPECT_EQ(every.values_read(), 2 * 3 * 9 * 5);
  const Conv2dProblem second = Conv2dProblem::parse("mb2ic3ih9iw8oc4oh5ow4kh1sh2");
  EXPECT_EQ(second.values_read(), 2 * 3 * 5 * 4);
  EXPECT_EQ(second.bytes(), 4.0 * (2 * 3 * 5 * 4 + 4 * 3 + 4 + 2 * 4 * 5 * 4));
  // Windows at rows -1 and 3 read rows 0, 1 and 3 to 5 of seven, and the same columns.
  EXPECT_EQ(Conv2dProblem::parse("mb1ic1ih7oc1oh2kh3sh4ph1").values_read(), 5 * 5);
  // Windows at 0 and 3 of six rows read 0, 2, 3 and 5.
  EXPECT_EQ(Conv2dProblem::parse("mb1ic1ih6oc1oh2kh2sh3dh1").values_read(), 4 * 4);
  // Sizes near the limit take no time.
  EXPECT_EQ(Conv2dProblem::parse("mb1ic1ih2000000000iw1oc1oh1000000000ow1kh1kw1sh2sw1").values_read(), 1e9);
  EXPECT_EQ(
      Conv2dProblem::parse("mb1ic1ih2000000000iw1oc1oh1000000001ow1kh1000000000kw1sh1sw1").values_read(),
      2e9);
}

TEST(ConvProblem, RefusesMalformedNumbers) {
  expect_refused("ic0x10ih28oc6kh5", "ic", "1 to 2147483647", "0x10");
  expect_refused("ic1ih1e3oc6kh5", "ih", "1 to 2147483647", "1e3");
  expect_refused("ic1 ih28oc6kh5", "ic", "1 to 2147483647", "found '1 ' in");
  expect_refused("ic1\xff\xfe_ih28oc6kh5", "ic", "1 to 2147483647", "found '1\\xff\\xfe' in");
  expect_refused("ic1ih2.5oc6kh5", "ih", "2.5");
  expect_refused("ic-1ih28oc6kh5", "ic", "-1");
  expect_refused("icih28oc6kh5", "icih", "none of");
  expect_refused("ic1ih28oc6kh", "kh", "1 to");
  expect_refused("ic1ih28oc6kh5sh", "sh");
  expect_refused("ic+1ih28oc6kh5", "ic", "+1");
  expect_refused("ic1ih28oc6kh5ph-1", "ph", "-1");
}

TEST(ConvProblem, RefusesValuesOutOfRange) {
  expect_refused("ic0ih28oc6kh5", "ic", "1 to 2147483647", "'0'");
  expect_refused("mb0ic1ih28oc6kh5", "mb", "'0'");
  expect_refused("ic1ih28oc6kh5sh0", "sh", "'0'");
  expect_refused("ic1ih2147483648oc6kh5", "ih", "1 to 2147483647", "2147483648");
  expect_refused("ic1ih99999999999999999999999999oc6kh5", "ih", "99999999999999999999999999");
  expect_refused("g0ic1ih28oc6kh5", "g", "'0'");
  Conv2dProblem negative = Conv2dProblem::parse("ic1ih28oc6kh5");
  negative.pad_w = -1;
  EXPECT_THROW(negative.check(), UsageError);
}

TEST(ConvProblem, RefusesWhatDoesNotFitTogether) {
  expect_refused("ic1ih28oc6oh22kh5", "oh=22", "24");
  expect_refused("ic1ih28oc6oh24ow20kh5", "ow=20", "24");
  expect_refused("ic1ih28oc6oh22kh5ph0", "oh=22", "24");
  expect_refused("ic1ih28oc6oh9kh5ph9", "oh=9", "42");
  expect_refused("ic1ih4oc6kh5", "does not fit", "kh=5", "4", "size 0");
  expect_refused("ic1ih28iw3oc6kh5", "does not fit", "kw=5", "size -1");
  expect_refused("ic1ih4oc6kh3dh3", "does not fit", "spans 9");
  expect_refused("g2ic3ih9oc4kh3", "g", "divide", "ic=3");
  expect_refused("g2ic4ih9oc3kh3", "g", "divide", "oc=3");
  expect_refused("g5ic4ih9oc4kh3", "g=5");
}

TEST(ConvProblem, RefusesProductsFrom2To31On) {
  expect_refused("mb65536ic32768ih1oc1kh1", "input", "2147483648");
  expect_refused("mb2147483647ic2147483647ih2147483647oc1kh1", "input", "2147483648");
  expect_refused("mb1ic65536ih1oc32768kh1", "weight", "2147483648");
  expect_refused("mb1ic1ih32768oc2kh1", "output", "2147483648");
  expect_refused("ic1ih1oc1kh1ph2147483647", "output");
  expect_refused("ic1ih1oc1kh1ph2147483647sh2147483647", "padded input");
  // The largest legal value.
  EXPECT_NO_THROW(Conv2dProblem::parse("mb2147483647ic1ih1oc1kh1"));
}

TEST(ConvProblem, RefusesMalformedStrings) {
  expect_refused("", "lacks ic");
  expect_refused("ic1ih28oc6", "lacks kh");
  expect_refused("ic1iw28oc6", "lacks kh");
  expect_refused("ic1oc6kh5", "lacks ih");
  expect_refused("ic1id9oc6ih9kh5", "lacks kd");
  expect_refused("ic1ih28oc6kh5_kh3", "kh twice, 5 and 3");
  expect_refused("ic1ih28oc6kh5zz3", "'zz'", "none of");
  expect_refused("ic1 ih28 oc6 kh5", "ic");
  expect_refused("ic1ih28oc6kh5na b", "one word", "a b");
  expect_refused("ic1ih28oc6kh5n\"a", "closing quote");
  expect_refused("ic1ih28oc6kh5n\"a\"ph1", "a name ends", "'ph1'");
  expect_refused("28", "none of");
}

// Found by fuzzing: padding is unlimited, so problems of a few elements had workspaces whose size in bytes
// overflowed.
TEST(ConvBackendsOfTheCpu, RefuseProblemsWhoseWorkspaceHasNoSize) {
  const auto refusal_of = [](const char* backend, const char* text) {
    return find_conv_backend(DeviceKind::kCpu, backend)
        .supports(Conv2dProblem::parse(text), MathMode::kFp32)
        .reason();
  };
  EXPECT_EQ(
      refusal_of("direct", "ic1ih1oc1kh1073741823kw1ph536870911pw1073741823"),
      "direct on the CPU takes padded images of fewer than 2^31 elements per group, in whole strides, found "
      "2.30584e+18: make the image or its padding smaller");
  EXPECT_EQ(
      refusal_of("direct", "ic2147483647ih1iw1oc1kh1pw1073741823ph0"),
      "direct on the CPU takes padded images of fewer than 2^31 elements per group, in whole strides, found "
      "1.38351e+19: make the image or its padding smaller");
  EXPECT_EQ(refusal_of("im2col_gemm", "ic1ih1iw2147483647oc1kh2147483647kw1ph1073741823pw0"),
            "im2col_gemm on the CPU unrolls an output row to fewer than 2^40 elements, found 2147483647 x "
            "2147483647: "
            "make the image or the filter smaller");
  EXPECT_EQ(refusal_of("direct", "ic3ih16384oc3kh3ph1"), "") << "a picture of the largest size";
}

}  // namespace
}  // namespace lenslet
