// The steps of Winograd's convolution on the CPU, with channels and then filters in the lanes of a vector. Internal.
//
//   input     V[i][t][c] = (B^T d B)_i of tile t and channel c, i < 36
//   products  M[i][t][k] = sum over c of V[i][t][c] * U[i][c][k]
//   output    Y = A^T M A of tile t and filter k, with bias and rectifier
//
// So neither transform moves values between lanes, and a plane of few tiles fills vectors as well as one of many. Only
// reading x and writing y turns squares of 4x4 values around.
#pragma once

#include <algorithm>
#include <cstdint>

#include "framework/base/simd.h"
#include "framework/tensor/float_vector.h"
#include "layers/conv/cpu/lanes.h"
#include "layers/conv/cpu/rows.h"
#include "layers/conv/cpu/winograd/transforms.h"
#include "layers/vector_rectifier.h"

namespace lenslet::winograd_cpu {

/// A vector of channels of a rectangle of tiles of one image.
struct InputTask {
  const float* x;         // the first channel, at the first row and column that are copied
  int64_t plane, w;       // floats from channel to channel, and from row to row
  int64_t channels;       // of these lanes; the lanes after them get the last one's values
  int64_t rows, columns;  // copied
  float* padded;          // [4 tile_rows + 2][4 tile_columns + 2][W]; zeros outside of what is copied
  int64_t first;          // where in `padded` the first value goes, without the lanes
  int64_t tile_rows, tile_columns;
  float* v;  // position i of tile t at i * v_step + t * tile_step
  int64_t v_step, tile_step;
};

/// All products of some tiles and a block of filters.
struct ProductTask {
  const float* v;
  int64_t v_step, tile_step;
  const float* u;  // [36][channels][width]
  int64_t channels, width;
  float* m;  // position i of tile t at i * m_step + t * width
  int64_t m_step, tiles;
};

/// A vector of filters of a rectangle of tiles of one image.
struct OutputTask {
  const float* m;  // position i of tile t at i * m_step + t * width
  int64_t m_step, width;
  int64_t tile_rows, tile_columns;
  const float* bias;  // of each lane
  Rectifier after;
  int64_t filters;        // of these lanes
  float* y;               // the first filter, at the first row and column
  int64_t plane, q;       // floats from filter to filter, and from row to row
  int64_t rows, columns;  // that exist
};

template <int W>
LENSLET_ALWAYS_INLINE void copy_channels(const InputTask& task) {
  using Quad = FloatVector<4>::type;
  using Memory = FloatVector<4>::unaligned;
  const int64_t pitch = task.tile_columns * kOut + kIn - kOut;
  for (int lane = 0; lane < W; lane += 4) {
    const float* from[4];
    for (int k = 0; k < 4; ++k)
      from[k] = task.x + std::min<int64_t>(lane + k, task.channels - 1) * task.plane;
    for (int64_t row = 0; row < task.rows; ++row) {
      float* const out = task.padded + (task.first + row * pitch) * W + lane;
      const int64_t at = row * task.w;
      for (int64_t i = 0; i < task.columns; i += 4) {
        if (task.columns < 4) {
          for (int64_t j = 0; j < task.columns; ++j)
            for (int k = 0; k < 4; ++k) out[j * W + k] = from[k][at + j];
          break;
        }
        i = std::min(i, task.columns - 4);  // the last ones, some of them again
        Quad square[4];
        for (int k = 0; k < 4; ++k) square[k] = *reinterpret_cast<const Memory*>(from[k] + at + i);
        transpose_4x4(square);
        for (int k = 0; k < 4; ++k) *reinterpret_cast<Memory*>(out + (i + k) * W) = square[k];
      }
    }
  }
}

template <int W>
LENSLET_ALWAYS_INLINE void input_of(const InputTask& task) {
  using Vector = typename FloatVector<W>::type;
  using Memory = typename FloatVector<W>::unaligned;
  copy_channels<W>(task);
  const int64_t pitch = (task.tile_columns * kOut + kIn - kOut) * W;
  float* v = task.v;
  for (int64_t row = 0; row < task.tile_rows; ++row) {
    for (int64_t column = 0; column < task.tile_columns; ++column, v += task.tile_step) {
      const float* const tile = task.padded + row * kOut * pitch + column * kOut * W;
      Vector rows[kIn][kIn];
#pragma GCC unroll 6
      for (int i = 0; i < kIn; ++i) {
        Vector d[kIn];
#pragma GCC unroll 6
        for (int j = 0; j < kIn; ++j) d[j] = *reinterpret_cast<const Memory*>(tile + i * pitch + j * W);
        transform_input(d, rows[i]);
      }
#pragma GCC unroll 6
      for (int j = 0; j < kIn; ++j) {
        const Vector d[kIn] = {rows[0][j], rows[1][j], rows[2][j], rows[3][j], rows[4][j], rows[5][j]};
        Vector of_column[kIn];
        transform_input(d, of_column);
#pragma GCC unroll 6
        for (int i = 0; i < kIn; ++i)
          *reinterpret_cast<Memory*>(v + (i * kIn + j) * task.v_step) = of_column[i];
      }
    }
  }
}

/// J tiles by V vectors of filters, in registers.
template <int W, int J, int V>
LENSLET_ALWAYS_INLINE void product_tile(const float* v, int64_t tile_step, const float* u, int64_t channels,
                                        float* m) {
  using Vector = typename FloatVector<W>::type;
  using Memory = typename FloatVector<W>::unaligned;
  Vector sum[J][V];
#pragma GCC unroll 16
  for (int j = 0; j < J; ++j) {
#pragma GCC unroll 16
    for (int k = 0; k < V; ++k) sum[j][k] = Vector{};
  }
  for (int64_t c = 0; c < channels; ++c, u += V * W) {
    Vector filters[V];
#pragma GCC unroll 16
    for (int k = 0; k < V; ++k) filters[k] = *reinterpret_cast<const Memory*>(u + k * W);
#pragma GCC unroll 16
    for (int j = 0; j < J; ++j) {
      const float value = v[j * tile_step + c];
#pragma GCC unroll 16
      for (int k = 0; k < V; ++k) sum[j][k] += filters[k] * value;
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < J; ++j) {
#pragma GCC unroll 16
    for (int k = 0; k < V; ++k) *reinterpret_cast<Memory*>(m + (j * V + k) * W) = sum[j][k];
  }
}

template <int W, int V>
LENSLET_ALWAYS_INLINE void products_of_width(const ProductTask& task) {
  for (int64_t i = 0; i < kPositions; ++i) {
    const float* const u = task.u + i * task.channels * task.width;
    const float* v = task.v + i * task.v_step;
    float* m = task.m + i * task.m_step;
    for (int64_t left = task.tiles; left > 0;) {
      // Four and four are faster than six and two.
      const int64_t count = left >= 6 && left != 8 ? 6 : left >= 4 ? 4 : left >= 2 ? 2 : 1;
      if (count == 6) {
        product_tile<W, 6, V>(v, task.tile_step, u, task.channels, m);
      } else if (count == 4) {
        product_tile<W, 4, V>(v, task.tile_step, u, task.channels, m);
      } else if (count == 2) {
        product_tile<W, 2, V>(v, task.tile_step, u, task.channels, m);
      } else {
        product_tile<W, 1, V>(v, task.tile_step, u, task.channels, m);
      }
      v += count * task.tile_step;
      m += count * task.width;
      left -= count;
    }
  }
}

/// kMaxVectors: vectors of a block of filters for which six tiles' sums fit the registers.
template <int W, int kMaxVectors>
LENSLET_ALWAYS_INLINE void products_of(const ProductTask& task) {
  if constexpr (kMaxVectors > 2) {
    if (task.width == 4 * W) return products_of_width<W, 4>(task);
    if (task.width == 3 * W) return products_of_width<W, 3>(task);
  }
  if (task.width == 2 * W) return products_of_width<W, 2>(task);
  products_of_width<W, 1>(task);
}

template <int W>
LENSLET_ALWAYS_INLINE void output_of(const OutputTask& task) {
  using Vector = typename FloatVector<W>::type;
  using Memory = typename FloatVector<W>::unaligned;
  using Quad = FloatVector<4>::type;
  using QuadMemory = FloatVector<4>::unaligned;
  const Vector bias = *reinterpret_cast<const Memory*>(task.bias);
  const Rectifier after = task.after;
  const float* m = task.m;
  for (int64_t row = 0; row < task.tile_rows; ++row) {
    for (int64_t column = 0; column < task.tile_columns; ++column, m += task.width) {
      Vector rows[kOut][kIn];
#pragma GCC unroll 6
      for (int j = 0; j < kIn; ++j) {
        Vector of_column[kIn], y[kOut];
#pragma GCC unroll 6
        for (int i = 0; i < kIn; ++i)
          of_column[i] = *reinterpret_cast<const Memory*>(m + (i * kIn + j) * task.m_step);
        transform_output(of_column, y);
#pragma GCC unroll 4
        for (int i = 0; i < kOut; ++i) rows[i][j] = y[i];
      }
      alignas(64) float values[kOut][kOut][W];
#pragma GCC unroll 4
      for (int i = 0; i < kOut; ++i) {
        Vector y[kOut];
        transform_output(rows[i], y);
#pragma GCC unroll 4
        for (int j = 0; j < kOut; ++j) {
          y[j] = y[j] + bias;
          rectify(after, y[j]);
          *reinterpret_cast<Memory*>(values[i][j]) = y[j];
        }
      }
      const int64_t valid_rows = std::min<int64_t>(kOut, task.rows - row * kOut);
      const int64_t valid_columns = std::min<int64_t>(kOut, task.columns - column * kOut);
      float* const y = task.y + row * kOut * task.q + column * kOut;
      for (int lane = 0; lane < W && lane < task.filters; lane += 4) {
        const int64_t filters = std::min<int64_t>(4, task.filters - lane);
        for (int64_t i = 0; i < valid_rows; ++i) {
          Quad square[4];
#pragma GCC unroll 4
          for (int j = 0; j < kOut; ++j)
            square[j] = *reinterpret_cast<const QuadMemory*>(values[i][j] + lane);
          transpose_4x4(square);
          float* const out = y + lane * task.plane + i * task.q;
          if (filters == 4 && valid_columns == kOut) {
#pragma GCC unroll 4
            for (int k = 0; k < 4; ++k) *reinterpret_cast<QuadMemory*>(out + k * task.plane) = square[k];
          } else {
            for (int64_t k = 0; k < filters; ++k) {
              for (int64_t j = 0; j < valid_columns; ++j) out[k * task.plane + j] = values[i][j][lane + k];
            }
          }
        }
      }
    }
  }
}

/// The steps, compiled for one instruction set.
struct Steps {
  int64_t lanes, max_vectors;  // of a block of filters
  void (*input)(const InputTask&);
  void (*products)(const ProductTask&);
  void (*output)(const OutputTask&);
};

struct BaselineSteps {
  static void input(const InputTask& task) { input_of<4>(task); }
  static void products(const ProductTask& task) { products_of<4, 2>(task); }
  static void output(const OutputTask& task) { output_of<4>(task); }
};
struct Avx2Steps {
  LENSLET_TARGET_AVX2 static void input(const InputTask& task) { input_of<8>(task); }
  LENSLET_TARGET_AVX2 static void products(const ProductTask& task) { products_of<8, 2>(task); }
  LENSLET_TARGET_AVX2 static void output(const OutputTask& task) { output_of<8>(task); }
};
struct Avx512Steps {
  LENSLET_TARGET_AVX512 static void input(const InputTask& task) { input_of<16>(task); }
  LENSLET_TARGET_AVX512 static void products(const ProductTask& task) { products_of<16, 4>(task); }
  LENSLET_TARGET_AVX512 static void output(const OutputTask& task) { output_of<16>(task); }
};

/// For this processor.
inline const Steps& steps() {
  static constexpr Steps kSteps[] = {
      {4, 2, &BaselineSteps::input, &BaselineSteps::products, &BaselineSteps::output},
      {8, 2, &Avx2Steps::input, &Avx2Steps::products, &Avx2Steps::output},
      {16, 4, &Avx512Steps::input, &Avx512Steps::products, &Avx512Steps::output}};
  return kSteps[static_cast<int>(simd_level())];
}

}  // namespace lenslet::winograd_cpu
