// Model: a network with its weights on one device; classifies batches of any size. The command line, the C interface
// (lenslet.h) and the Python package are built on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "framework/device/device.h"
#include "framework/execution/plan.h"
#include "framework/tensor/math_mode.h"
#include "framework/tensor/normalisation.h"
#include "framework/tensor/pixels.h"
#include "framework/tensor/shape.h"
#include "framework/tensor/tensor.h"
#include "models/prediction.h"

namespace lenslet {

struct BuildOptions;
class Executable;
class ModelSetup;

/// Called with the number of images done, before the first pass and after each; returns false to end the call early.
using Progress = std::function<bool(int64_t done)>;

/// Device, plan, backend and arithmetic of a Model, with the values of the command line (`lenslet --help`).
struct ModelOptions {
  std::string device = "auto";  // "auto", "cpu", "cuda", "cuda:N"; several: "cuda:all", "cuda:0,2"
  std::string plan = "auto";    // "auto", "layered", "fused", or the path of a plan saved as .json
  std::string backend;          // "direct", "conv1=direct,conv2=winograd"; with plan "fused" one of that plan
  std::string math = "fp32";    // "fp32", "tf32", "fp16" or "int8"
  size_t workspace_limit = SIZE_MAX;  // bytes, for each layer
  int64_t max_batch = 0;  // images per pass; larger calls take several. 0: as Model::pass_size() has it
  /// Which passes a GPU replays as a captured CUDA graph: "auto", those of up to 256 images layer by layer; "on", each;
  /// "off", none. The second call with the same number of images captures the pass, which allocates memory. For calls
  /// in a GPU's memory both addresses must be the same, too. A capture that fails throws DeviceError or MemoryError
  /// once; later calls with that number launch the kernels one by one. "on" is refused on the CPU.
  std::string graph = "auto";
};

/// Device time of one layer of a pass; with a whole-network plan, of the whole pass.
struct LayerTime {
  std::string name;      // "conv1"; "lenet5" for a whole-network plan
  std::string backend;   // the code that ran
  std::string math;      // "fp32"; empty for layers without products
  double median_ns = 0;  // over the passes measured
  double p10_ns = 0;     // a tenth of the passes were faster
  double p90_ns = 0;     // a tenth were slower
};

/// The times of a pass, layer by layer, measured as described in framework/execution/profiler.h.
struct ModelProfile {
  std::string device;             // "cuda:0"
  std::string plan;               // "layered" or "fused"
  int64_t batch = 0;              // images of the pass
  double total_ns = 0;            // median of a pass without events between the layers
  std::vector<LayerTime> layers;  // in order of execution
};

/// One backend of a layer, supported or not.
struct BackendChoice {
  std::string layer;    // "conv1"; the model's name for a whole-network backend
  std::string backend;  // "direct"
  std::string reason;   // why it is unsupported; empty if it is supported
};

/// A layer of the network, and the code that computes it.
struct LayerInfo {
  std::string name;         // "conv1"; for a network of an ONNX file its node's name
  std::string type;         // "conv2d"
  std::string description;  // "6@5x5 stride 1 pad 0"
  Shape input, output;      // of one sample, without the batch; `input` is that of the first input
  std::string backend;      // the code that runs, of the layer `computed_by`
  /// The layer's own name; another layer's if it is fused into that; the model's with plan "fused".
  std::string computed_by;
};
/// Every layer of the executable's graph, in order of execution.
std::vector<LayerInfo> layers_of(const Executable& executable);

/// Where the memory of a call is.
class Place {
 public:
  /// Images and answers are in host memory, ordinary or page-locked (api/host_memory.h). The call returns when the
  /// answers are there.
  Place() = default;
  /// Images and answers are in the memory of the model's GPU, aligned to 16 bytes; labels and probabilities in
  /// PredictionArrays are aligned to 4. `stream` is a cudaStream_t of the caller; null is the default stream. The call
  /// enqueues its work there and returns: it waits for nothing and copies nothing to or from the host. The first call
  /// with a number of images prepares the model for that number, which allocates; so does the second with the same
  /// memory if it captures the pass (ModelOptions::graph). The stream may record a CUDA graph once the same call has
  /// been made outside; the model must outlive the graph. A call of several passes rounds max_batch to a multiple of 2
  /// or 4 where its passes would otherwise not be aligned.
  static Place on_device(void* stream) noexcept {
    Place place;
    place.on_device_ = true;
    place.stream_ = stream;
    return place;
  }
  /// Like on_device(), for memory that is all of that GPU, as the library that owns it states. The driver is not
  /// queried, which would take a part of the time of a small call.
  static Place known_on(Device device, void* stream) noexcept {
    Place place = on_device(stream);
    place.known_ = device;
    return place;
  }
  /// Whether it is the memory of the model's GPU.
  bool is_on_device() const noexcept { return on_device_; }
  /// The GPU of known_on(); the CPU if the driver is to be queried.
  Device known_device() const noexcept { return known_; }
  /// The caller's cudaStream_t.
  void* stream() const noexcept { return stream_; }

 private:
  bool on_device_ = false;
  void* stream_ = nullptr;
  Device known_;
};

/// What one device of a model on several did in all calls from host memory.
struct DeviceShare {
  Device device;       // one of those that the model was made for
  int64_t images = 0;  // computed
  std::string fault;   // why it failed; empty if it did not
};

/// Predictions as two arrays [count], in the memory of the call's Place.
struct PredictionArrays {
  int32_t* labels = nullptr;       // class 0..9
  float* probabilities = nullptr;  // of that class
};

/// Not thread-safe: one thread at a time for one Model; different Models may run in different threads, also on one
/// device.
class Model {
 public:
  /// `path` is a safetensors file (weights/FORMAT.md), a network as ONNX (.onnx; docs/models.md), or the name of a
  /// built-in set: "robust" for pictures of people, "mnist". Throws DataError for an invalid file, UsageError for an
  /// invalid option value, UnavailableError for an unavailable device or an unsupported backend or math mode.
  static Model load(const std::string& path, const ModelOptions& options = {});
  /// Uses `mnist`, the set of weights compiled into the library that is best for MNIST's images. Throws like load().
  static Model built_in(const ModelOptions& options = {});

  /// A model with a single pass, built with `pass`. A call is cut into chunks of its batch; the last chunk may be
  /// smaller. On a GPU one chunk is copied while another computes. For programs that choose and report how a pass is
  /// computed. Throws like Executable.
  Model(std::shared_ptr<const ModelSetup> setup, const BuildOptions& pass);

  /// A model of `setup`, which load() makes of files and options. Throws like load().
  Model(std::shared_ptr<const ModelSetup> setup, const ModelOptions& options);

  /// A model with other options that shares these weights in memory. Throws like load().
  Model with_options(const ModelOptions& options) const;
  /// Like with_options(), for a program that has a setup and no model.
  static Model of_setup(const ModelSetup& weights, const ModelOptions& options);

  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  /// Writes class 0..9 and its probability of each image to `predictions` [count]; count may be 0. `pixels` [count, 28,
  /// 28] have bright ink on 0; on the CPU they are read in place. Throws MemoryError, DeviceError, and DataError unless
  /// the network reads 28x28 grey images and writes ten values in one dimension. With Place::on_device() also
  /// UsageError for memory that is not the GPU's or not aligned, and UnavailableError for a plan that does not read and
  /// write these types itself, as the layered plan reads and writes only fp32.
  void predict(const uint8_t* pixels, int64_t count, Prediction* predictions, const Place& place = {});
  /// `images` [count, 28, 28] are normalised with normalisation(); for the built-in weights (x / 255 - 0.1307) /
  /// 0.3081. Values are not checked: ImageCheck (api/image_check.h) finds a NaN or an infinity, and pixels.
  void predict(const float* images, int64_t count, Prediction* predictions, const Place& place = {});
  /// Like predict() above, with the answers as two arrays.
  void predict(const uint8_t* pixels, int64_t count, PredictionArrays answers, const Place& place = {});
  void predict(const float* images, int64_t count, PredictionArrays answers,
               const Place& place = {});  ///< See above.
  /// Like predict() above, for packed pixels, 4 bits each (framework/tensor/pixels.h): `pairs` [count, 28, 14]. They
  /// carry half the bytes of pixels over a GPU's bus. Packing rounds, so some answers differ from those for the pixels
  /// themselves.
  void predict(const PixelPair* pairs, int64_t count, Prediction* predictions, const Place& place = {});
  void predict(const PixelPair* pairs, int64_t count, PredictionArrays answers,
               const Place& place = {});  ///< See above.
  /// Writes the values before softmax to `logits` [count, 10]. Arguments and errors as for predict(). Returns the
  /// number of images computed, counted from the first: `count`, or fewer if `progress` ended the call.
  int64_t logits(const uint8_t* pixels, int64_t count, float* logits, const Progress& progress = {});
  void logits(const uint8_t* pixels, int64_t count, float* logits, const Place& place);  ///< See above.
  /// Like logits() above, for normalised images.
  void logits(const float* images, int64_t count, float* logits, const Place& place = {});
  /// Like logits() above, for packed pixels.
  void logits(const PixelPair* pairs, int64_t count, float* logits, const Place& place = {});

  /// Shape of one sample that the network reads and writes: {1, 28, 28} and {10} for LeNet-5.
  Shape input_shape() const;
  Shape output_shape() const;  ///< See input_shape().
  /// Every layer, and what computes it in a run() of `batch` samples. Prepares that pass if it is new.
  std::vector<LayerInfo> layers(int64_t batch = 1);
  /// Samples per pass: max_batch, by default 1,024 on the CPU and 65,536 on a GPU, fewer if the largest layer of so
  /// many writes more than 2^25 values on the CPU, or 2^28 on a GPU.
  int64_t pass_size() const noexcept;
  /// Runs any network: `inputs` [count, input_shape()] are the values that it reads, `outputs` [count, output_shape()]
  /// those that it writes. Arguments and errors as for predict().
  void run(const float* inputs, int64_t count, float* outputs, const Place& place = {});
  /// Like run() above, for pixels, which are first normalised with normalisation(). Returns the number of samples
  /// computed, as logits() does.
  int64_t run(const uint8_t* pixels, int64_t count, float* outputs, const Progress& progress = {});

  /// Largest `min_time_ms` of profile(): ten minutes.
  static constexpr double kMaxProfileMs = 600000;
  /// Times the layers in passes of `batch` random images, for at least `min_time_ms`. With plan "fused", or a plan file
  /// of that kind, the whole network is the only layer; "auto" takes layered here. Throws UsageError for a batch
  /// outside 1..1,048,576 and a time outside 0..kMaxProfileMs. `stop` is called between passes: it returns true to end
  /// with the passes so far, or throws.
  ModelProfile profile(int64_t batch, double min_time_ms = 100, std::function<bool()> stop = {}) const;

  /// The resolved options, for programs that build their own executables with the same weights.
  const std::shared_ptr<const ModelSetup>& setup() const noexcept;

  /// The device that computes; of several the first, which plan(), profile(), layers() and executable() describe.
  Device device() const noexcept;
  /// All devices of the model. Large calls from host memory are divided between them as fast as each computes; small
  /// ones go to one. A call in device memory is computed by the device that has it. If a device hangs or lacks memory,
  /// the others compute its part, with the same bits: they replay the choices of the first device's plan. A kernel that
  /// fails on one GPU ends the work of the process on all (docs/faults.md).
  const std::vector<Device>& devices() const noexcept;
  /// "NVIDIA H200", or the CPU's model; of several "2 x NVIDIA H200".
  std::string device_name() const;
  /// What each device did so far, in the order of devices(); empty for one device.
  std::vector<DeviceShare> shares() const;
  /// The normalisation of the weights file's metadata; default MNIST's, 0.1307 and 0.3081.
  const Normalisation& normalisation() const noexcept;
  /// An image whose log(sum(exp(logits))) is not above this shows no digit. From the weights file's metadata; NaN
  /// without an entry.
  double energy_threshold() const noexcept;
  /// The plan of a pass of `batch` images, bytes in and predictions out. Prepares the pass if it is new.
  Plan plan(int64_t batch);
  /// Allocates the memory of a single-pass model's calls, so that the first call can be timed. Throws MemoryError.
  void prepare();
  /// Runs a pass of a single-pass model on each device, waiting after each layer, so that an error names its layer. Of
  /// several devices those that fail are left out. Throws DeviceError.
  void run_checked();
  /// The executable of plan(batch), for programs that time or inspect it. Valid until passes of other batches replace
  /// it. A single-pass model ignores `batch`.
  Executable& executable(int64_t batch = 1);
  /// Every backend of each layer for such a pass on this device, in rank order, and every whole-network
  /// backend.
  std::vector<BackendChoice> backends(int64_t batch) const;

 private:
  class State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace lenslet
