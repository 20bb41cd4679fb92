#include "apps/convbench/published.h"

#include <array>

namespace lenslet {
namespace {

constexpr std::array<int, 5> kSizes = {256, 512, 1024, 2048, 4096};
constexpr std::array<int, 5> kFilterSizes = {128, 256, 512, 1024, 2048};
constexpr const char* kStudyA = "study A, Quadro M4000";
constexpr const char* kStudyB = "study B, Tesla V100";
constexpr const char* kStudyC = "study C, GeForce GTX 1050, copies and launches included";

// Study A, tables 1, 2, 5, 6: milliseconds, [backend][size][stride 1, 2, 3].
constexpr double kRgbMs[3][5][3] = {
    // direct
    {{0.169664, 0.073344, 0.04992},
     {0.614976, 0.248448, 0.143808},
     {2.39446, 0.841664, 0.47488},
     {9.50512, 3.31891, 1.81424},
     {37.8888, 13.1012, 7.07206}},
    // im2col_gemm
    {{0.244032, 0.25536, 0.241984},
     {0.884768, 0.936448, 0.876288},
     {3.46717, 3.64934, 3.43584},
     {13.7262, 14.3173, 13.5908},
     {55.1908, 57.3978, 54.3727}},
    // cudnn
    {{0.178528, 0.063648, 0.042208},
     {0.58816, 0.167744, 0.09312},
     {2.28202, 0.601536, 0.291264},
     {9.02285, 2.32752, 1.08912},
     {36.141, 9.25616, 4.30045}},
};
// Study A, table 3: milliseconds, [memory][size][tile 8, 16, 32].
constexpr double kGemmMemoryMs[3][5][3] = {
    // global
    {{1.1832, 0.521568, 0.310912},
     {4.523072, 2.039072, 1.195552},
     {18.620352, 8.111392, 4.743072},
     {71.991425, 32.387135, 18.816704},
     {297.127777, 129.536194, 75.479172}},
    // shared
    {{0.957376, 0.160512, 0.239872},
     {3.689632, 0.602752, 0.910976},
     {15.13824, 2.373728, 3.605504},
     {58.759201, 9.466272, 14.41856},
     {243.234552, 37.743073, 57.331966}},
    // register
    {{0.957248, 0.160992, 0.240448},
     {3.687648, 0.6056, 0.914336},
     {15.132832, 2.362528, 3.610208},
     {58.764416, 9.422144, 14.46208},
     {242.133789, 37.604095, 57.349823}},
};
// Study A, table 4: milliseconds, [partition][size][block 16, 32, 64].
constexpr double kGemmPartitionMs[3][5][3] = {
    // row
    {{161.17, 161.16, 161.14},
     {643.09, 643.27, 643.3},
     {2571.6, 2572.1, 2571.7},
     {10287.0, 10284.0, 10285.0},
     {41200.0, 41206.0, 41211.0}},
    // column
    {{0.488576, 0.285344, 0.280992},
     {1.929472, 1.053792, 1.04848},
     {7.689408, 4.085824, 4.150304},
     {30.828735, 16.236832, 16.393312},
     {123.283394, 64.737762, 65.060669}},
    // element
    {{0.522016, 0.312672, 0.002464},
     {2.043648, 1.19504, 0.002912},
     {8.112352, 4.744064, 0.003616},
     {32.398335, 18.80368, 0.002656},
     {129.522781, 75.475616, 0.004928}},
};
// Study C: GFLOP/s, [stride][size 128 to 2048][sliding window, im2col+GEMM, cuDNN].
constexpr double kFilterGflops[3][5][3] = {
    {{9.42, 9.34, 1.67},
     {16.77, 8.91, 5.34},
     {19.76, 10.95, 12.18},
     {18.9, 14.93, 20.34},
     {23.99, 14.96, 22.4}},
    {{3.17, 3.65, 0.44}, {7.26, 6.15, 1.52}, {9.59, 7.33, 4.83}, {12.55, 9.08, 9.38}, {14.95, 10.85, 12.69}},
    {{1.46, 1.74, 0.2}, {3.97, 3.79, 0.73}, {5.08, 4.64, 2.33}, {6.92, 6.19, 5.06}, {7.91, 7.3, 7.0}},
};

/// Position of `value` in `values`, or -1.
template <typename Values, typename Value>
int position(const Values& values, const Value& value) {
  int at = 0;
  for (const auto& known : values) {
    if (known == value) return at;
    ++at;
  }
  return -1;
}

std::optional<PublishedFigure> milliseconds(const double (*table)[5][3], int row, int size, int column,
                                            const char* source) {
  const int at = position(kSizes, size);
  if (row < 0 || at < 0 || column < 0) return std::nullopt;
  PublishedFigure figure;
  figure.time_ns = table[row][at][column] * 1e6;
  figure.source = source;
  return figure;
}

}  // namespace

std::optional<PublishedFigure> published_rgb(const std::string& backend, int size, int stride) {
  const int row = position(std::array<const char*, 3>{"direct", "im2col_gemm", "cudnn"}, backend);
  const int column = position(std::array<int, 3>{1, 2, 3}, stride);
  return milliseconds(kRgbMs, row, size, column, kStudyA);
}

std::optional<PublishedFigure> published_gemm_memory(const std::string& memory, int size, int tile) {
  const int row = position(std::array<const char*, 3>{"global", "shared", "register"}, memory);
  return milliseconds(kGemmMemoryMs, row, size, position(std::array<int, 3>{8, 16, 32}, tile), kStudyA);
}

std::optional<PublishedFigure> published_gemm_partition(const std::string& partition, int size, int block) {
  const int row = position(std::array<const char*, 3>{"row", "column", "element"}, partition);
  return milliseconds(kGemmPartitionMs, row, size, position(std::array<int, 3>{16, 32, 64}, block), kStudyA);
}

std::optional<PublishedFigure> published_implicit_gemm(const std::string& rung, int channels, int size,
                                                       int filters) {
  struct Printed {
    const char* rung;
    int channels, size, filters;
    double time_ms, gflops;
  };
  static constexpr Printed kPrinted[] = {
      {"01_shared_tile", 32, 64, 128, 0.959517, 2363}, {"01_shared_tile", 32, 128, 128, 3.896214, 2403},
      {"04_block_128", 32, 64, 128, 0.355904, 6370},   {"04_block_128", 32, 128, 128, 1.182835, 7917},
      {"04_block_128", 64, 64, 128, 0.638720, 7099},   {"04_block_128", 64, 128, 128, 2.183587, 8577},
  };
  for (const Printed& printed : kPrinted) {
    if (rung == printed.rung && channels == printed.channels && size == printed.size &&
        filters == printed.filters) {
      return PublishedFigure{printed.time_ms * 1e6, printed.gflops, kStudyB};
    }
  }
  return std::nullopt;
}

std::optional<PublishedFigure> published_filter(const std::string& backend, int size, int stride) {
  const int column = position(std::array<const char*, 3>{"direct", "im2col_gemm", "cudnn"}, backend);
  const int at = position(kFilterSizes, size), row = position(std::array<int, 3>{1, 2, 3}, stride);
  if (row < 0 || at < 0 || column < 0) return std::nullopt;
  PublishedFigure figure;
  figure.gflops = kFilterGflops[row][at][column];
  figure.source = kStudyC;
  return figure;
}

}  // namespace lenslet
