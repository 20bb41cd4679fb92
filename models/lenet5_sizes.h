// Sizes of LeNet-5's layers. Includes nothing, so that kernels and readers of pictures can include it.
#pragma once

namespace lenslet {

inline constexpr int kLenet5Side = 28;                           // rows and columns of the input
inline constexpr int kLenet5Pixels = kLenet5Side * kLenet5Side;  // of the input, which has one channel
inline constexpr int kLenet5Filter = 5;  // rows and columns of both convolutions' filters
inline constexpr int kLenet5Maps1 = 6;   // channels of conv1
inline constexpr int kLenet5Maps2 = 16;  // channels of conv2
inline constexpr int kLenet5Side1 = 12;  // rows and columns of conv1, pooled
inline constexpr int kLenet5Side2 = 4;   // rows and columns of conv2, pooled
inline constexpr int kLenet5Inputs1 = kLenet5Maps2 * kLenet5Side2 * kLenet5Side2;  // of fc1
inline constexpr int kLenet5Hidden1 = 120;                                         // outputs of fc1
inline constexpr int kLenet5Hidden2 = 84;                                          // outputs of fc2
inline constexpr int kLenet5Classes = 10;                                          // digits, outputs of fc3

}  // namespace lenslet
