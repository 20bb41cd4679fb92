// How far two right answers of the built-in network for the sample digits may lie apart.
#pragma once

namespace lenslet::test {

/// Logits in fp32. If the roundings of a logit's products all had the same sign, its error would be 6.8e-4
/// (ReferenceLogits::bound in apps/lenslet/candidates/logits_check.h has the estimate); with random signs it is 2.8e-5.
/// This is five times what two such errors differ by.
constexpr double kLogitTolerance = 2e-4;
/// Logits of which one is in tf32 or fp16: by the same estimate the operands' roundings change one by 0.17 or 0.09 if
/// all have the same sign. With random signs, as in fp32, it is a 24th of that, 0.007 or 0.004; this is over ten times
/// either.
constexpr double kShortLogitTolerance = 0.1;
/// Probabilities in fp32: p (1 - p) times the change of a difference of two logits, with p at least 0.996 and the
/// tolerance above, is 1.6e-6; the softmax of a backend adds 2e-6.
constexpr double kProbabilityTolerance = 1e-5;
/// The same in tf32 and fp16: probability_bound() (tests/support/probability_bound.h) of p = 0.996 and the tolerance of
/// such logits is 8e-4. Rounded up.
constexpr double kShortProbabilityTolerance = 1e-3;

}  // namespace lenslet::test
