// Internal: how many deviations of its rounding errors a bound allows a logit.
#pragma once

namespace lenslet {

// Independent errors with mean zero and limits exceed lambda deviations with a probability of at most
// 2 exp(-lambda^2 / 2) (Hoeffding's inequality, as Higham and Mary use it: fused_lenet5/error_bound.h). fused_test.cpp
// compares up to 4 million logits with the bound: 8,312 pictures of ten logits, by eight pairs of backend and math
// mode, of three types of input and with two sets of weights. With 8 the probability that any exceeds it is at most
// 1.0e-7; with 6 it could be 0.12.
inline constexpr double kLogitDeviations = 8;

}  // namespace lenslet
