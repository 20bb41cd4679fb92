// The options of every subcommand; cli.cpp fills them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/model_setup.h"
#include "apps/common/command_line/output_options.h"
#include "apps/measuring/measure.h"
#include "framework/io/picture.h"
#include "models/digit/picture_input.h"
#include "models/prediction.h"

namespace lenslet {

/// Options of several subcommands; each subcommand offers a subset.
struct CommonOptions : Choices, OutputOptions {
  std::string save_plan;
  std::optional<int64_t> batch_size;
  std::optional<int> threads;
  uint64_t seed = 1;
};

/// How pictures become the input of a network; all but the limits are for one that reads others than digits.
struct PictureOptions {
  PictureLimits picture_limits = {"--max-image-pixels"};
  std::vector<double> mean, std;  // of pixels / 255: one number, or one per channel; empty: the model's
  PictureFit fit;
  std::string labels;  // file with a line per class; empty: numbers
};

struct ClassifyOptions : CommonOptions, PictureOptions {
  ClassifyOptions() { several_devices = true; }
  std::vector<std::string> inputs;
  bool explain = false;
  std::optional<int64_t> limit, index;  // index in an IDX file
};

struct EvalOptions : CommonOptions, PictureOptions {
  EvalOptions() { several_devices = true; }
  std::string data;     // folder or arrays; empty: LENSLET_MNIST_DIR, then ./data
  std::string answers;  // labels of the array in `data`
  std::string split = "t10k";
  std::optional<int64_t> limit;
  std::optional<double> min_accuracy;  // 0..1
  bool backend_matrix = false;
  std::optional<int64_t> streams, repeat;  // if either is set: stream the data set after the evaluation
  std::string misses, contact_sheet, logits;
};

struct ProfileCommandOptions : CommonOptions {
  double warmup_ms = 50, min_time_ms = 200;
  std::string cache = "both";
  std::string trace;
  bool capture = false;
};

struct TuneOptions : CommonOptions {
  double warmup_ms = 10, min_time_ms = 50;  // of each candidate
};

struct ModelBenchOptions : CommonOptions {
  /// A pass alone, whose images and answers are in the device's memory.
  static constexpr const char* kDevice = "device";
  /// A whole call of a Model, whose images and answers are in ordinary host memory.
  static constexpr const char* kHost = "host";

  ModelBenchOptions() { measure.cold = false; }
  std::string data;                  // folder; empty: LENSLET_MNIST_DIR, then ./data, then drawn digits
  std::vector<int64_t> batch_sizes;  // empty: depends on the device
  std::vector<std::string> plans = {"layered", "fused"};
  /// Whole-network backends; empty: the one that auto takes; "all": every one.
  std::vector<std::string> backends;
  std::vector<MathMode> maths;  // empty: depends on the device
  std::vector<ElementType> inputs = {ElementType::kFp32, ElementType::kUint8};
  std::vector<ElementType> outputs = {ElementType::kFp32, kPrediction};
  std::vector<std::string> places;  // kDevice, kHost; empty: both
  MeasureOptions measure;
  bool latency = false;  // time single calls from host memory to host memory
  int64_t calls = 2000;
};

struct BackendsOptions : CommonOptions {
  bool verbose = false;               // also the backends of a GPU that is not there
  std::vector<std::string> problems;  // empty: the layers of the model
};

struct DoctorOptions : CommonOptions {
  bool verbose = false;  // also the libraries' paths and a row for every backend
};

struct InspectOptions : OutputOptions {
  std::vector<std::string> files;  // one ONNX file
  bool verbose = false;            // also the backends of a GPU that is not there
};

struct DiffOptions : CommonOptions {
  static constexpr const char* kOnnxRuntime = "onnxruntime";
  std::vector<std::string> files;  // one ONNX file
  std::string against;             // kOnnxRuntime, or the path of an .npz file
  int64_t samples = 8;             // random ones, for ONNX Runtime
};

struct ShowOptions : CommonOptions, PictureOptions {
  std::vector<std::string> inputs;  // one picture
  std::string html = "lenslet.html";
};

struct ServeOptions : CommonOptions, PictureOptions {
  std::string host = "127.0.0.1";
  int64_t port = 8080;
  std::vector<std::string> allow_host;  // names that the Host field may have
  int64_t max_batch = 64, max_queue = 1024, max_delay_us = 0;
  int64_t max_connections = 10000;
  size_t max_body = 16 << 20;  // bytes
  double timeout_s = 30;
};

}  // namespace lenslet
