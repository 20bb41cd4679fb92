// Copies with strides on the CPU: y[sum over d of i[d] * second[d]] = x[sum over d of i[d] * first[d]] for every index
// i of a StridedPair, the innermost dimension in a loop, the others by counting.
#include <algorithm>
#include <cstring>

#include "framework/base/parallel.h"
#include "layers/rearrange/rearrange_backend.h"

namespace lenslet {
namespace {

// Smallest number of values per thread: handing over less costs more than copying it.
constexpr int64_t kGrainValues = 32 * 1024;

void copy(const StridedCopy& copy, const float* x, float* y, Stream& /*stream*/) {
  const StridedPair& places = copy.places;
  const int last = places.rank - 1;
  const int64_t row_values = places.rank == 0 ? 1 : places.dims[last];
  const int64_t x_stride = places.rank == 0 ? 1 : places.first[last];
  const int64_t y_stride = places.rank == 0 ? 1 : places.second[last];
  parallel_for(places.count(), kGrainValues, [&](int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end;) {
      const int64_t count = std::min(end - at, row_values - at % row_values);
      int64_t in_x = 0, in_y = 0;
      places.place(at, in_x, in_y);
      const float* from = x + copy.x_first + in_x;
      float* to = y + copy.y_first + in_y;
      if (x_stride == 1 && y_stride == 1) {
        std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
      } else {
        for (int64_t i = 0; i < count; ++i) to[i * y_stride] = from[i * x_stride];
      }
      at += count;
    }
  });
}

void fill(float* y, int64_t count, float value, Stream& /*stream*/) {
  parallel_for(count, kGrainValues,
               [&](int64_t begin, int64_t end) { std::fill(y + begin, y + end, value); });
}

}  // namespace

LENSLET_BACKEND(rearrange, cpu_copy, RearrangeBackend{&copy, &fill})

}  // namespace lenslet
