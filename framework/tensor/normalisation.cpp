#include "framework/tensor/normalisation.h"

#include <cstddef>

#include "framework/base/parallel.h"

namespace lenslet {
namespace {

// Fewest values for a thread, 64 images of MNIST: about 17 us of a core, more than the 10 us to wake it.
constexpr int64_t kValuesPerTask = 64 * 784;

}  // namespace

Normalisation::Normalisation(float mean, float std) noexcept : mean_(mean), std_(std) {
  for (size_t i = 0; i < values_.size(); ++i) {
    const float scaled = static_cast<float>(i) / 255.0f;
    values_[i] = (scaled - mean) / std;
  }
}

void Normalisation::apply(const uint8_t* pixels, int64_t count, float* out) const {
  const float* const values = values_.data();
  parallel_for(count, kValuesPerTask, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = values[pixels[i]];
  });
}

void Normalisation::apply(const PixelPair* pairs, int64_t count, float* out) const {
  const float* const values = values_.data();
  parallel_for(count, kValuesPerTask, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      out[i] = values[i % 2 == 0 ? first_grey(pairs[i / 2]) : second_grey(pairs[i / 2])];
  });
}

}  // namespace lenslet
