// The normalisation of MNIST's pixels.
#pragma once

namespace lenslet {

inline constexpr float kMnistMean = 0.1307f;  // mean of x / 255 over the pixels of the training images
inline constexpr float kMnistStd = 0.3081f;   // standard deviation of the same values

}  // namespace lenslet
