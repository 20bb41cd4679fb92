// Winograd's transforms of F(4x4, 3x3) on the CPU, each lane of a vector one tile. Internal.
//
// A tile of 4x4 outputs comes from 6x6 inputs: Y = A^T [(G g G^T) * (B^T d B)] A, * element by element.
// A. Lavin and S. Gray, "Fast algorithms for convolutional neural networks", arXiv:1509.09308 (2015), section 4.1. The
// points are 0, 1, -1, 1/2, -2 and infinity, as in layers/conv/gpu/winograd/transforms.cuh: B. Barabasz, A. Anderson,
// K. Soodhalter and D. Gregg, "Error analysis and improving the accuracy of Winograd convolution for deep neural
// networks", arXiv:1803.10986 (2018).
#pragma once

#include <cstdint>
#include <utility>

#include "framework/base/simd.h"
#include "framework/tensor/float_vector.h"
#include "layers/conv/cpu/direct/rows.h"
#include "layers/conv/cpu/lanes.h"
#include "layers/rectifier.h"
#include "layers/vector_exp.h"

namespace lenslet::winograd_cpu {

constexpr int kOut = 4, kIn = 6, kTaps = 3;  // edges of a tile of outputs, of its inputs, and of a filter
constexpr int kPositions = kIn * kIn;        // products of a tile, for each channel
constexpr double kG[kIn][kTaps] = {{1, 0, 0},
                                   {1 / 3.0, 1 / 3.0, 1 / 3.0},
                                   {-1 / 3.0, 1 / 3.0, -1 / 3.0},
                                   {-16 / 15.0, -8 / 15.0, -4 / 15.0},
                                   {1 / 15.0, -2 / 15.0, 4 / 15.0},
                                   {0, 0, 1}};
/// The largest, over outputs o and taps j, of sum over t, i of |A_to G_tj B_it|: how much larger than |d||g| the
/// numbers behind an output can be, in one dimension.
constexpr double kAmplification = 16.94;

/// U = G g G^T of one filter g [3, 3], rounded once: [6, 6], `step` floats apart.
inline void transform_filter(const float* g, int64_t step, float* u) {
  for (int i = 0; i < kIn; ++i) {
    for (int j = 0; j < kIn; ++j) {
      double sum = 0;
      for (int r = 0; r < kTaps; ++r) {
        for (int s = 0; s < kTaps; ++s) sum += kG[i][r] * kG[j][s] * double{g[r * kTaps + s]};
      }
      u[(i * kIn + j) * step] = static_cast<float>(sum);
    }
  }
}

/// A piece of a row of an image, and where it lies among the rows of tiles.
struct Piece {
  int64_t image, rows, count;
};

/// Tiles of one channel, side by side: row i of the inputs of tile t are the floats from 4t on of row i of `rows`, and
/// its last two those from 4t on of row i of `next`. So no vector is made of single floats.
struct InputTask {
  const float* x;
  const Piece* pieces;  // of x, copied to `rows` and `next` first; the rest of both is zero
  int64_t piece_count;
  float* rows;
  const float* next;  // rows + 6 * row_step
  int64_t row_step;   // floats from row to row
  float* v;           // position (i, j) of tile t at (6i + j) * v_step + t
  int64_t v_step;
  int64_t tiles;  // whole vectors
};

/// The products of tiles of one filter to rows of outputs, and from there to y.
struct OutputTask {
  const float* m;  // position (i, j) of tile t at (6i + j) * m_step + t
  int64_t m_step;
  float bias;
  Rectifier after;
  float* rows;  // row i of the outputs of tile t: four floats from i * row_step + 4t on
  int64_t row_step;
  int64_t tiles;  // whole vectors
  float* y;
  const Piece* pieces;
  int64_t piece_count;
};

/// v = B^T d.
template <typename Vector>
LENSLET_ALWAYS_INLINE void transform_input(const Vector (&d)[kIn], Vector (&v)[kIn]) {
  const Vector d31 = d[3] - d[1], d42 = d[4] - d[2];
  v[0] = 1.5f * d31 + (-2.0f * d[2] + (d[0] + d[4]));
  v[1] = 0.5f * d[2] + (2.5f * d[3] + (d[4] - d[1]));
  v[2] = 0.5f * d[3] + (-2.5f * d[2] + (d[4] + d[1]));
  v[3] = 2.0f * d31 + d42;
  v[4] = -0.5f * d31 + d42;
  v[5] = 1.5f * d42 + (-2.0f * d[3] + (d[5] + d[1]));
}

/// y = A^T m.
template <typename Vector>
LENSLET_ALWAYS_INLINE void transform_output(const Vector (&m)[kIn], Vector (&y)[kOut]) {
  const Vector sum = m[1] + m[2], difference = m[1] - m[2];
  y[0] = m[0] + sum + (m[3] + m[4]);
  y[1] = -2.0f * m[4] + (0.5f * m[3] + difference);
  y[2] = 4.0f * m[4] + (0.25f * m[3] + sum);
  y[3] = -8.0f * m[4] + (0.125f * m[3] + difference) + m[5];
}

template <int W>
LENSLET_ALWAYS_INLINE void input_of(const InputTask& task) {
  using Vector = typename FloatVector<W>::type;
  using Memory = typename FloatVector<W>::unaligned;
  constexpr auto kLanes = std::make_integer_sequence<int, W>();
  for (int64_t i = 0; i < task.piece_count; ++i) {
    const Piece& piece = task.pieces[i];
    copy_row<W>(task.x + piece.image, piece.count, task.rows + piece.rows);
  }
  for (int64_t tile = 0; tile < task.tiles; tile += W) {
    Vector rows[kIn][kIn];
#pragma GCC unroll 6
    for (int i = 0; i < kIn; ++i) {
      const float* const row = task.rows + i * task.row_step + tile * kOut;
      const float* const next = task.next + i * task.row_step + tile * kOut;
      Vector in[4], even[2], odd[2], d[kIn];
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) in[k] = *reinterpret_cast<const Memory*>(row + k * W);
#pragma GCC unroll 2
      for (int k = 0; k < 2; ++k) {
        every_second<0>(in[2 * k], in[2 * k + 1], even[k], kLanes);
        every_second<1>(in[2 * k], in[2 * k + 1], odd[k], kLanes);
      }
      every_second<0>(even[0], even[1], d[0], kLanes);
      every_second<0>(odd[0], odd[1], d[1], kLanes);
      every_second<1>(even[0], even[1], d[2], kLanes);
      every_second<1>(odd[0], odd[1], d[3], kLanes);
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) in[k] = *reinterpret_cast<const Memory*>(next + k * W);
#pragma GCC unroll 2
      for (int k = 0; k < 2; ++k) {
        every_second<0>(in[2 * k], in[2 * k + 1], even[k], kLanes);
        every_second<1>(in[2 * k], in[2 * k + 1], odd[k], kLanes);
      }
      every_second<0>(even[0], even[1], d[4], kLanes);
      every_second<0>(odd[0], odd[1], d[5], kLanes);
      transform_input(d, rows[i]);
    }
#pragma GCC unroll 6
    for (int j = 0; j < kIn; ++j) {
      const Vector column[kIn] = {rows[0][j], rows[1][j], rows[2][j], rows[3][j], rows[4][j], rows[5][j]};
      Vector v[kIn];
      transform_input(column, v);
#pragma GCC unroll 6
      for (int i = 0; i < kIn; ++i)
        *reinterpret_cast<Memory*>(task.v + (i * kIn + j) * task.v_step + tile) = v[i];
    }
  }
}

template <int W>
LENSLET_ALWAYS_INLINE void output_of(const OutputTask& task) {
  using Vector = typename FloatVector<W>::type;
  using Memory = typename FloatVector<W>::unaligned;
  constexpr auto kLanes = std::make_integer_sequence<int, W>();
  const float slope = task.after.slope, ceiling = task.after.ceiling, bias = task.bias;
  for (int64_t tile = 0; tile < task.tiles; tile += W) {
    Vector rows[kOut][kIn];
#pragma GCC unroll 6
    for (int j = 0; j < kIn; ++j) {
      Vector m[kIn], y[kOut];
#pragma GCC unroll 6
      for (int i = 0; i < kIn; ++i)
        m[i] = *reinterpret_cast<const Memory*>(task.m + (i * kIn + j) * task.m_step + tile);
      transform_output(m, y);
#pragma GCC unroll 4
      for (int i = 0; i < kOut; ++i) rows[i][j] = y[i];
    }
#pragma GCC unroll 4
    for (int i = 0; i < kOut; ++i) {
      Vector y[kOut], half[4], out[4];
      transform_output(rows[i], y);
#pragma GCC unroll 4
      for (int j = 0; j < kOut; ++j) {
        y[j] = y[j] + bias;
        // A comparison with NaN is false, so NaN is kept, as in PyTorch.
        if (slope == 0.0f) {
          y[j] = y[j] < 0.0f ? Vector{} : y[j];
        } else if (slope != 1.0f) {
          y[j] = y[j] < 0.0f ? y[j] * slope : y[j];
        }
        y[j] = y[j] > ceiling ? Vector{} + ceiling : y[j];
      }
      in_turns<0>(y[0], y[2], half[0], kLanes);
      in_turns<W / 2>(y[0], y[2], half[1], kLanes);
      in_turns<0>(y[1], y[3], half[2], kLanes);
      in_turns<W / 2>(y[1], y[3], half[3], kLanes);
      in_turns<0>(half[0], half[2], out[0], kLanes);
      in_turns<W / 2>(half[0], half[2], out[1], kLanes);
      in_turns<0>(half[1], half[3], out[2], kLanes);
      in_turns<W / 2>(half[1], half[3], out[3], kLanes);
      float* const to = task.rows + i * task.row_step + tile * kOut;
#pragma GCC unroll 4
      for (int k = 0; k < 4; ++k) *reinterpret_cast<Memory*>(to + k * W) = out[k];
    }
  }
  for (int64_t i = 0; i < task.piece_count; ++i) {
    const Piece& piece = task.pieces[i];
    copy_row<W>(task.rows + piece.rows, piece.count, task.y + piece.image);
  }
}

/// Both transforms, compiled for one instruction set.
struct Transforms {
  void (*input)(const InputTask&);
  void (*output)(const OutputTask&);
};

template <int W>
void input_baseline(const InputTask& task) {
  input_of<W>(task);
}
template <int W>
void output_baseline(const OutputTask& task) {
  output_of<W>(task);
}
template <int W>
LENSLET_TARGET_AVX2 void input_avx2(const InputTask& task) {
  input_of<W>(task);
}
template <int W>
LENSLET_TARGET_AVX2 void output_avx2(const OutputTask& task) {
  output_of<W>(task);
}
template <int W>
LENSLET_TARGET_AVX512 void input_avx512(const InputTask& task) {
  input_of<W>(task);
}
template <int W>
LENSLET_TARGET_AVX512 void output_avx512(const OutputTask& task) {
  output_of<W>(task);
}

/// For the vectors of tile_kernels().
inline const Transforms& transforms() {
  static constexpr Transforms kTransforms[] = {{&input_baseline<4>, &output_baseline<4>},
                                               {&input_avx2<8>, &output_avx2<8>},
                                               {&input_avx512<16>, &output_avx512<16>}};
  return kTransforms[static_cast<int>(simd_level())];
}

}  // namespace lenslet::winograd_cpu
