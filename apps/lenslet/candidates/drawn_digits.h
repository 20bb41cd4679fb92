// Images similar to MNIST's, for machines without MNIST: digits of a few strokes, all different.
#pragma once

#include <cstdint>
#include <vector>

namespace lenslet {

/// `count` images [count, 28, 28] of the digits 0, 1, … 9, 0, …: ink 255 on paper 0, about 20 pixels tall. Slant,
/// width, position and pen vary with the seed.
std::vector<uint8_t> drawn_digits(int64_t count, uint64_t seed);

}  // namespace lenslet
