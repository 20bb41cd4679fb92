// Sizes of LeNet-5's input and output. Includes nothing, so that kernels and readers of pictures can include it.
#pragma once

namespace lenslet {

inline constexpr int kLenet5Side = 28;                           // rows and columns of the input
inline constexpr int kLenet5Pixels = kLenet5Side * kLenet5Side;  // of the input, which has one channel
inline constexpr int kLenet5Classes = 10;                        // digits

}  // namespace lenslet
