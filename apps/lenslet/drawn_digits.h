// Pictures like those of MNIST for where MNIST is not: digits of a few strokes, no two alike.
#pragma once

#include <cstdint>
#include <vector>

namespace lenslet {

/// `count` pictures [count, 28, 28] of the digits 0, 1, … 9, 0, …: ink 255 on paper 0, about 20 pixels tall; slant,
/// width, place and pen vary with the seed.
std::vector<uint8_t> drawn_digits(int64_t count, uint64_t seed);

}  // namespace lenslet
