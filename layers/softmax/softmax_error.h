// How far a probability in fp32 may lie from the exact softmax of its logits.
#pragma once

namespace lenslet {

/// Error of a softmax of up to ten logits in fp32, those logits given. In units of 2^-24, of a sum of e^x with the
/// largest x = 0: 4 by e^x (2 ulp: exp_nonpositive(); expf and exp2f in the CUDA C++ Programming Guide), ln 10 by a
/// rounding of each x, as the mean of |x| weighted by e^x is no larger, 9 by the additions, 1 by the division. That is
/// 1.0e-6. Where x is also multiplied by log2 e, its roundings count 7 and a fast division 4, but the sum, in fixed
/// point, less than 2: the same. Rounded up.
inline constexpr double kSoftmaxError = 2e-6;

}  // namespace lenslet
