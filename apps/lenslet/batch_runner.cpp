#include "apps/lenslet/batch_runner.h"

#include <algorithm>
#include <cstring>

#include "apps/common/signals.h"
#include "framework/nvtx.h"
#include "framework/statistics.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr int64_t kPixels = kLenet5Side * kLenet5Side;

// The input's place for `images` images, as the model reads them; what the batch has room for behind them is zero.
void fill_input(const Normalization& normalization, const ImageDataset& data, int64_t first, int64_t images,
                TensorView input) {
  const uint8_t* const pixels = data.images.data() + first * kPixels;
  const size_t used = input.bytes() / static_cast<size_t>(input.shape[0]) * static_cast<size_t>(images);
  if (input.type == ElementType::kUint8) {
    std::memcpy(input.data, pixels, used);
  } else {
    normalization.apply(pixels, images * kPixels, input.data);
  }
  std::memset(input.as<char>() + used, 0, input.bytes() - used);
}

// CPU: the images are normalised right into the executable's input.
void run_on_cpu(Executable& executable, const ImageDataset& data, int64_t count, BatchRun& run,
                const std::function<void(int64_t)>& progress) {
  const int64_t batch = executable.batch();
  while (run.count < count && !interrupted()) {
    const int64_t images = std::min(batch, count - run.count);
    fill_input(executable.graph().normalization(), data, run.count, images, executable.input());
    executable.run();
    executable.stream().synchronize();
    std::memcpy(run.logits.data() + run.count * kLenet5Classes, executable.output().data,
                static_cast<size_t>(images * kLenet5Classes) * sizeof(float));
    run.count += images;
    if (progress) progress(run.count);
  }
}

// A batch under way on the GPU.
struct Flight {
  explicit Flight(Executable& executable)
      : input(executable.device(), executable.input().bytes()),
        output(executable.device(), executable.output().bytes()),
        done(executable.device()) {}
  PinnedBuffer input, output;
  Event done;
  int64_t first = 0, images = 0;  // no images: not under way
};

// GPU: while one batch computes, the host normalises the next. The stream keeps their order, so that both may
// use the executable's one input.
void run_on_gpu(Executable& executable, const ImageDataset& data, int64_t count, BatchRun& run,
                Flight* flights, const std::function<void(int64_t)>& progress) {
  const int64_t batch = executable.batch();
  Stream& stream = executable.stream();
  const auto land = [&](Flight& flight) {
    if (flight.images == 0) return;
    flight.done.synchronize();
    std::memcpy(run.logits.data() + flight.first * kLenet5Classes, flight.output.data(),
                static_cast<size_t>(flight.images * kLenet5Classes) * sizeof(float));
    run.count += flight.images;
    flight.images = 0;
    if (progress) progress(run.count);
  };
  int turn = 0;
  for (int64_t first = 0; first < count && !interrupted(); first += batch, turn ^= 1) {
    Flight& flight = flights[turn];
    land(flight);
    flight.first = first;
    flight.images = std::min(batch, count - first);
    TensorView host = executable.input();
    host.data = static_cast<float*>(flight.input.data());
    fill_input(executable.graph().normalization(), data, first, flight.images, host);
    {
      NvtxRange range("h2d");
      copy_bytes(executable.input().data, executable.device(), flight.input.data(), Device::cpu(),
                 flight.input.bytes(), stream);
    }
    executable.run();
    {
      NvtxRange range("d2h");
      copy_bytes(flight.output.data(), Device::cpu(), executable.output().data, executable.device(),
                 flight.output.bytes(), stream);
    }
    flight.done.record(stream);
  }
  land(flights[turn]);
  land(flights[turn ^ 1]);
}

}  // namespace

void run_images(Executable& executable, const ImageDataset& data, int64_t count, BatchRun& run,
                const std::function<void(int64_t)>& progress) {
  run.logits.assign(static_cast<size_t>(count * kLenet5Classes), 0.0f);
  // However this ends, the logits are those of the images that were computed.
  struct Cut {
    BatchRun& run;
    ~Cut() { run.logits.resize(static_cast<size_t>(run.count * kLenet5Classes)); }
  };
  const Cut cut{run};
  DeviceGuard guard(executable.device());
  if (executable.device().is_cuda()) {
    Flight flights[2] = {Flight(executable), Flight(executable)};
    const double start = host_now_ns();
    run_on_gpu(executable, data, count, run, flights, progress);
    run.wall_ns = host_now_ns() - start;
  } else {
    const double start = host_now_ns();
    run_on_cpu(executable, data, count, run, progress);
    run.wall_ns = host_now_ns() - start;
  }
}

double device_resident_rate(Executable& executable, double min_time_ms) {
  DeviceGuard guard(executable.device());
  Stream& stream = executable.stream();
  executable.run();
  stream.synchronize();
  // Passes go out in groups that double until one group lasts long enough: no synchronisation inside a group.
  for (int64_t passes = 1;; passes *= 2) {
    const double start = host_now_ns();
    for (int64_t i = 0; i < passes; ++i) executable.run();
    stream.synchronize();
    const double ns = host_now_ns() - start;
    if (ns >= min_time_ms * 1e6 || interrupted()) {
      return static_cast<double>(passes * executable.batch()) / ns * 1e9;
    }
  }
}

}  // namespace lenslet
