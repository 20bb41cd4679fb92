// How far a probability in fp32 may lie from the exact softmax of its logits.
#pragma once

namespace lenslet {

/// Error of a softmax of up to ten logits in fp32, those logits given. It adds up, in units of 2^-24 and for a sum of
/// e^x whose largest x is 0:
///   4      each e^x, 2 ulp (exp_nonpositive(); expf and exp2f in the CUDA C++ Programming Guide)
///   ln 10  the rounding of each x: the mean of |x|, weighted by e^x, is no larger
///   9      the additions
///   1      the division
/// The sum is 1.0e-6. Kernels that multiply x by log2 e have the same: its roundings count 7 and a fast division 4, but
/// the sum, in fixed point, less than 2. Rounded up.
inline constexpr double kSoftmaxError = 2e-6;

}  // namespace lenslet
