// Register tiles in the manner of Goto and van de Geijn, "Anatomy of High-Performance Matrix Multiplication"
// (2008), without packing of b: here b is an image read at shifted places, whose rows are contiguous already.
#include "layers/gemm/cpu/tile_kernel.h"

#include <algorithm>

#include "framework/base/simd.h"
#include "framework/tensor/float_vector.h"
#include "layers/vector_rectifier.h"

namespace lenslet {
namespace {

// A function with a tile of its own: inlined together with other tiles, GCC leaves sums of the tile in memory.
#define LENSLET_NOINLINE __attribute__((noinline))

/// Where the vectors of a register tile lie, in elements of the arguments' b and out: the first one, and from each to
/// the next.
struct TilePlace {
  int64_t b_first, out_first, b_next, out_next;
};

/// One register tile: J rows by V vectors of W positions.
/// The pragmas are needed: the sums stay in registers only if every loop is unrolled.
template <int W, int J, int V>
LENSLET_ALWAYS_INLINE void register_tile(const TileArgs& args, const TilePlace place) {
  using Vector = typename FloatVector<W>::unaligned;
  Vector sum[J][V];
#pragma GCC unroll 16
  for (int j = 0; j < J; ++j) {
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) sum[j][v] = Vector{};
  }
  const float* a = args.a;
  const float* b = args.b + place.b_first;
  const int64_t* offsets = args.offsets;
  for (int64_t t = 0; t < args.taps; ++t, a += J) {
    const float* line = b + (offsets ? offsets[t] : t * args.b_step);
    Vector x[V];
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) x[v] = *reinterpret_cast<const Vector*>(line + v * place.b_next);
#pragma GCC unroll 16
    for (int j = 0; j < J; ++j) {
#pragma GCC unroll 16
      for (int v = 0; v < V; ++v) sum[j][v] += x[v] * a[j];
    }
  }
  const Rectifier after = args.after;
#pragma GCC unroll 16
  for (int j = 0; j < J; ++j) {
    const float bias = args.bias ? args.bias[j] : 0.0f;
    float* out = args.out + j * args.out_step + place.out_first;
#pragma GCC unroll 16
    for (int v = 0; v < V; ++v) {
      typename FloatVector<W>::type y = sum[j][v] + bias;
      rectify(after, y);
      *reinterpret_cast<Vector*>(out + v * place.out_next) = y;
    }
  }
}

/// Computes V neighbouring vectors from position `first` on.
template <int W, int J, int V>
LENSLET_ALWAYS_INLINE void register_tile(const TileArgs& args, int64_t first) {
  register_tile<W, J, V>(args, TilePlace{first, first, W, W});
}

/// Positions of less than a vector that have no full vector before them to overlap with.
template <int J>
LENSLET_ALWAYS_INLINE void scalar_tile(const TileArgs& args) {
  for (int64_t i = 0; i < args.count; ++i) {
    float sum[J] = {};
    const float* a = args.a;
    for (int64_t t = 0; t < args.taps; ++t, a += J) {
      // Otherwise the compiler may multiply several t at once and add the products rounded.
      asm("" : "+r"(a));
      const float x = args.b[i + (args.offsets ? args.offsets[t] : t * args.b_step)];
#pragma GCC unroll 16
      for (int j = 0; j < J; ++j) sum[j] += x * a[j];
    }
#pragma GCC unroll 16
    for (int j = 0; j < J; ++j) {
      const float y = sum[j] + (args.bias ? args.bias[j] : 0.0f);
      args.out[j * args.out_step + i] = args.after.of(y);
    }
  }
}

/// The last `rest` < V * W positions, with as few vectors as possible. Vectors that would reach past the end are moved
/// back over positions already done, which get the same bits again.
template <int W, int J, int V>
LENSLET_ALWAYS_INLINE void last_tile(const TileArgs& args, int64_t rest) {
  if constexpr (V > 1) {
    if (rest <= (V - 1) * W) return last_tile<W, J, V - 1>(args, rest);
  }
  register_tile<W, J, V>(args, args.count - V * W);
}

/// Fewer than (V + 1) * W positions and at least W: as many whole vectors as there are, then one moved back.
template <int W, int J, int V>
LENSLET_ALWAYS_INLINE void only_tile(const TileArgs& args) {
  if constexpr (V > 1) {
    if (args.count < V * W) return only_tile<W, J, V - 1>(args);
  }
  register_tile<W, J, V>(args, 0);
  if (args.count > V * W) register_tile<W, J, 1>(args, args.count - W);
}

/// All positions. V is chosen so that J * V sums, V inputs and one broadcast fit the registers.
template <int W, int J, int V>
LENSLET_ALWAYS_INLINE void tile_rows(const TileArgs& args) {
  int64_t i = 0;
  for (; i + V * W <= args.count; i += V * W) register_tile<W, J, V>(args, i);
  int64_t rest = args.count - i;
  if (rest == 0) return;
  if (i > 0) return last_tile<W, J, V>(args, rest);
  // Fewer positions than one full tile.
  if constexpr (W > 4) {
    if (args.count < W) return tile_rows<W / 2, J, std::min(V, 4)>(args);
  }
  if (args.count < W) return scalar_tile<J>(args);
  if constexpr (V > 1) only_tile<W, J, V - 1>(args);
}

/// V lines or more of one vector each: V of them in a tile. The last tile is moved back over lines already done, which
/// get the same bits again.
template <int W, int J, int V>
LENSLET_ALWAYS_INLINE void vector_lines(const TileArgs& args) {
  for (int64_t line = 0;; line += V) {
    line = std::min(line, args.lines - V);
    register_tile<W, J, V>(args,
                           TilePlace{line * args.b_line, line * args.out_line, args.b_line, args.out_line});
    if (line + V == args.lines) return;
  }
}

/// Whether V lines of one vector share a tile: a line alone has J sums, too few to hide the latency of a multiply-add.
template <int W, int V>
LENSLET_ALWAYS_INLINE bool lines_share_tiles(const TileArgs& args) {
  return args.lines > 1 && args.lines >= V && (args.count == W || (W == 16 && args.count == 8));
}

/// One line after the other.
template <int W, int J, int V>
LENSLET_ALWAYS_INLINE void separate_lines(const TileArgs& args) {
  TileArgs line = args;
  for (int64_t i = 0; i < args.lines; ++i, line.b += args.b_line, line.out += args.out_line)
    tile_rows<W, J, V>(line);
}

// V for J = 1, 2, 4, 6, 8 with 32 vector registers and with 16. With 16, eight rows would leave room for one vector
// only, and then each multiply-add takes more than one load.
template <template <int J, int V> class Isa>
constexpr TileKernels with_32_registers(const char* isa, int vector_floats) {
  return {isa,
          vector_floats,
          8,
          {nullptr, Isa<1, 8>::run, Isa<2, 8>::run, nullptr, Isa<4, 6>::run, nullptr, Isa<6, 4>::run, nullptr,
           Isa<8, 3>::run}};
}

template <template <int J, int V> class Isa>
constexpr TileKernels with_16_registers(const char* isa, int vector_floats) {
  return {isa,
          vector_floats,
          6,
          {nullptr, Isa<1, 6>::run, Isa<2, 4>::run, nullptr, Isa<4, 3>::run, nullptr, Isa<6, 2>::run, nullptr,
           nullptr}};
}

template <int J, int V>
struct Baseline {
  static LENSLET_NOINLINE void shared(const TileArgs& args) { vector_lines<4, J, V>(args); }
  static void run(const TileArgs& args) {
    lines_share_tiles<4, V>(args) ? shared(args) : separate_lines<4, J, V>(args);
  }
};
constexpr TileKernels kBaseline = with_16_registers<Baseline>("baseline", 4);

#if defined(__x86_64__)
template <int J, int V>
struct Avx2 {
  LENSLET_TARGET_AVX2 static LENSLET_NOINLINE void shared(const TileArgs& args) {
    vector_lines<8, J, V>(args);
  }
  LENSLET_TARGET_AVX2 static void run(const TileArgs& args) {
    lines_share_tiles<8, V>(args) ? shared(args) : separate_lines<8, J, V>(args);
  }
};
constexpr TileKernels kAvx2 = with_16_registers<Avx2>("AVX2", 8);

template <int J, int V>
struct Avx512 {
  LENSLET_TARGET_AVX512 static LENSLET_NOINLINE void shared(const TileArgs& args) {
    args.count == 8 ? vector_lines<8, J, V>(args) : vector_lines<16, J, V>(args);
  }
  LENSLET_TARGET_AVX512 static void run(const TileArgs& args) {
    lines_share_tiles<16, V>(args) ? shared(args) : separate_lines<16, J, V>(args);
  }
};
constexpr TileKernels kAvx512 = with_32_registers<Avx512>("AVX-512", 16);
#endif

std::vector<const TileKernels*> detect() {
  std::vector<const TileKernels*> kernels;
#if defined(__x86_64__)
  if (simd_level() >= SimdLevel::kAvx512) kernels.push_back(&kAvx512);
  if (simd_level() >= SimdLevel::kAvx2) kernels.push_back(&kAvx2);
#endif
  kernels.push_back(&kBaseline);
  return kernels;
}

}  // namespace

const std::vector<const TileKernels*>& all_tile_kernels() {
  static const std::vector<const TileKernels*> kernels = detect();
  return kernels;
}

const TileKernels& tile_kernels() { return *all_tile_kernels().front(); }

int next_row_block(int64_t rows_left) {
  const int max_rows = tile_kernels().max_rows;
  for (int rows : {8, 6, 4, 2}) {
    if (rows <= max_rows && rows_left >= rows) return rows;
  }
  return 1;
}

}  // namespace lenslet
