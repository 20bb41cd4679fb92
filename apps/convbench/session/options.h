// The options of convbench's subcommands; cli.cpp fills them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/common/command_line/output_options.h"
#include "apps/measuring/measure.h"
#include "framework/io/picture.h"
#include "framework/tensor/math_mode.h"
#include "layers/conv/conv_problem.h"
#include "layers/reference/fill.h"

namespace lenslet {

/// Options of every measuring subcommand.
struct BenchOptions : OutputOptions {
  std::string device = "auto";
  std::optional<int> threads;
  size_t workspace_limit = SIZE_MAX;  // bytes
  int64_t seed = 1;
  reference::Fill fill = reference::Fill::kRandom;
  MeasureOptions measure;
  std::optional<double> max_seconds;  // what is not measured by then is left out
};

/// The distribution that --dist names.
inline const char* dist_name(reference::Fill fill) noexcept {
  return fill == reference::Fill::kIntegers ? "ints"
         : fill == reference::Fill::kNormal ? "normal"
                                            : "uniform";
}

struct RunOptions : BenchOptions {
  static constexpr const char* kAuto = "auto";  // the backend that a layer's `auto` takes for the problem
  std::vector<std::string> problems, problem_files;
  std::vector<std::string> backends;  // names or kAuto; empty: all
  ElementType dt = ElementType::kFp32;
  MathMode math = MathMode::kFp32;
  std::vector<TensorLayout> layouts = {TensorLayout::kNchw};
};

struct SweepOptions : BenchOptions {
  std::vector<int> sizes = {256, 512, 1024, 2048, 4096}, strides = {1, 2, 3}, out_channels = {1, 3};
  std::vector<std::string> backends;  // names; empty: all
};

struct LadderOptions : BenchOptions {
  std::vector<std::string> algorithms;
  std::vector<std::string> problems, problem_files;  // empty: the algorithm's default shapes
};

struct ReproduceOptions : BenchOptions {
  ReproduceOptions() {
    // The defaults give about two thousand rows, within eight minutes on a fast GPU.
    measure.warmup_ms = 5;
    measure.min_time_ms = 30;
  }
  std::vector<std::string> studies;  // "a" to "e" or "all"
};

struct FilterOptions : BenchOptions {
  std::string input, output;                              // names of pictures; an empty output is not written
  PictureLimits picture_limits = {"--max-image-pixels"};  // of the input
  std::string filter = "edge";
  int64_t stride = 1;
  std::vector<std::string> backends;  // names; empty: all
  std::vector<TensorLayout> layouts = {TensorLayout::kNchw, TensorLayout::kNhwc};
};

struct StreamsOptions : BenchOptions {
  std::string problem = "mb64ic128ih56oc128kh3ph1";  // computing takes about as long as copying
  std::string backend = "implicit_gemm";
  int64_t chunks = 16;
  std::vector<int> streams = {1, 2, 4};
  std::string trace;  // empty: none
};

struct SeparableOptions : BenchOptions {
  std::vector<int> channels = {32, 128, 512}, sizes = {28, 56};
  std::optional<int64_t> batch;       // none: 8, on the CPU 1
  std::vector<std::string> backends;  // names; empty: all
};

struct GemmStudyOptions : BenchOptions {
  std::vector<int> sizes = {256, 512, 1024, 2048, 4096};
  std::vector<std::string> memory = {"global", "shared", "register"};
  std::vector<int> tiles = {8, 16, 32};  // for each memory mode
  std::vector<std::string> partitions = {"row", "column", "element"};
  std::vector<int> blocks = {16, 32, 64};  // for each partition
  int64_t out_channels = 3;
};

struct StencilOptions : BenchOptions {
  std::vector<int> dimensions = {1, 2};
  int64_t length = int64_t{1} << 24, taps = 7;      // 1D
  int64_t height = 4096, width = 4096, radius = 2;  // 2D
  std::vector<std::string> filters = {"global", "constant", "tiled", "vector"};
  std::vector<std::string> boundaries = {"zero", "clamp", "reflect"};
};

/// `convbench compare OLD NEW`.
struct CompareOptions {
  std::vector<std::string> files;  // the old file and the new one
  bool strict = false;
  double threshold_percent = 3;  // a difference up to this share is SAME
  std::string json;              // empty: none
  TableOptions tables;
};

}  // namespace lenslet
