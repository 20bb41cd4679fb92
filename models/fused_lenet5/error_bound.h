// Internal: the error bound of a logit computed in rounded arithmetic.
//
// A layer computes z = b + sum of n products w x, and stores max(z, 0) or a maximum of several. With unit roundoffs
// u_w (of a stored weight), u_x (of a stored input) and u_a (of an addition), and e_j the error that comes with x_j,
// the error of z is to first order
//   sum w_j (e_j + x_j (d_w + d_x)) + sum of the n partial sums times d_a,   |d_w| <= u_w, |d_x| <= u_x, |d_a| <= u_a;
// ReLU and maxima add none. A worst-case bound, with every term at its worst sign and intervals for x, gives 13 for the
// fp32 logits of the trained weights, a million times the observed error, because the row sums of |w| multiply over
// five layers. So the errors are modelled as independent with mean zero, as in N. J. Higham and T. Mary, "A new
// approach to probabilistic rounding error analysis", SIAM J. Sci. Comput. 41 (2019), with variance no larger than the
// square of their limit:
//   e_z^2 = sum w_j^2 (e_j^2 + x_j^2 (u_w^2 + u_x^2)) + n u_a^2 (b^2 + sum w_j^2 x_j^2),
// The bound is 8 such deviations of the worst logit, computed in fp64 over 8-bit pictures with far more contrast than
// digits: blank, full, and random patterns of cells of 1, 2 and 4 pixels. Correlated errors of neighbouring pixels,
// which the model ignores, are small in comparison: the fp32 bound is 6.1e-4 for the trained weights, and the error of
// PyTorch's fp32 on the MNIST test set is 6.5e-6 (weights/README.md).
#pragma once

#include <array>

#include "framework/tensor/roundoff.h"
#include "models/fused_lenet5/network_backend.h"

namespace lenslet {

/// Unit roundoffs of one layer's arithmetic; 0 for a value that is not rounded.
struct LayerRounding {
  double weight = 0;  // of a weight, as the kernel multiplies it
  /// The roundoff of what the layer reads, as the kernel multiplies it; more than one rounding: their sum.
  double input = 0;
  double sum = kUnitFp32;
};

/// An absolute bound on the error of each logit, for pixels 0..255 read either way (normalised in fp32, or as they are
/// with the normalisation folded into conv1). Layers in order: conv1, conv2, fc1, fc2, fc3.
double lenet5_logit_bound(const Lenet5Parameters& parameters, const std::array<LayerRounding, 5>& layers);

/// The same for convolutions in 8-bit integers, whose weights have known errors, dependent within a filter. So
/// `rounded`, with the values of the rounded weights, computes the logits of the same pictures, and of digits of seven
/// segments, with h1 in steps of `h1_unit` [6]. Eight times the root mean square change of the worst logit, over the
/// pictures or over the digits, is added to the bound above for `layers`, the roundings of what is no integer.
double quantised_lenet5_logit_bound(const Lenet5Parameters& parameters, const Lenet5Parameters& rounded,
                                    const std::array<double, 6>& h1_unit,
                                    const std::array<LayerRounding, 5>& layers);

}  // namespace lenslet
