// The normalisation of MNIST's pixels.
#pragma once

namespace lenslet {

inline constexpr float kMnistMean = 0.1307f;  // of x / 255 over the training images
inline constexpr float kMnistStd = 0.3081f;   // of MNIST's training pixels, x/255

}  // namespace lenslet
