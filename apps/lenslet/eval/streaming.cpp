#include "apps/lenslet/eval/streaming.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "api/feed.h"
#include "apps/common/output/text.h"
#include "apps/common/system/signals.h"
#include "apps/lenslet/eval/eval.h"
#include "apps/lenslet/eval/stream_windows.h"
#include "apps/lenslet/pictures/eval_report.h"
#include "framework/base/clock.h"
#include "framework/base/counted.h"
#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/measuring/nvtx.h"
#include "framework/tensor/pixels.h"
#include "framework/tensor/poison.h"
#include "models/lenet5_sizes.h"
#include "models/prediction.h"

namespace lenslet {
namespace {

// Length of each of the two measurements of the bus: at 25 GB/s all of kStoredBytes, twelve times. Chosen by hand.
constexpr double kBusNs = 250e6;
// Duration of --streams without --repeat: StreamWindows::kWindows of 50 ms. Chosen by hand.
constexpr double kDefaultNs = 1e9;
constexpr int64_t kPixels = kLenet5Pixels;
// Copies of the data set up to this size exceed all caches, and the reach of the TLB.
constexpr int64_t kStoredBytes = int64_t{512} << 20;

/// Images in page-locked memory in the model's format: image i is image i mod count of the data set. Whole data sets
/// plus one chunk, so that a chunk may begin anywhere.
class StreamSource {
 public:
  /// `sets`: the number of data sets to stream, 0 if unknown; no more than these are stored.
  StreamSource(Device device, const ImageDataset& data, int64_t count, int64_t sets, int64_t chunk,
               ElementType type, const Normalisation& normalisation)
      : image_bytes_(bytes_of(type, kPixels)),
        stored_(stored_sets(count, sets, static_cast<int64_t>(image_bytes_)) * count),
        memory_(device, static_cast<size_t>(stored_ + chunk) * image_bytes_) {
    for (int64_t first = 0; first < stored_ + chunk; first += count) {
      const int64_t pixels = std::min(count, stored_ + chunk - first) * kPixels;
      void* const place = static_cast<char*>(memory_.data()) + static_cast<size_t>(first) * image_bytes_;
      convert_pixels(ElementType::kUint8, data.images.data(), pixels, normalisation, type, place);
    }
  }
  size_t image_bytes() const noexcept { return image_bytes_; }
  /// A multiple of count.
  int64_t stored() const noexcept { return stored_; }
  const void* at(int64_t image) const noexcept {
    return static_cast<const char*>(memory_.data()) + static_cast<size_t>(image % stored_) * image_bytes_;
  }

 private:
  static int64_t stored_sets(int64_t count, int64_t sets, int64_t image_bytes) {
    const int64_t set_bytes = count * image_bytes;
    const int64_t enough = ceil_div(kStoredBytes, set_bytes);
    return sets == 0 ? enough : std::min(sets, enough);
  }

  size_t image_bytes_;
  int64_t stored_;
  PinnedBuffer memory_;
};

/// The answers of a plain pass, which every streamed result must equal.
class StreamAnswers {
 public:
  StreamAnswers(const ImageDataset& data, int64_t count, ElementType type)
      : data_(data),
        count_(count),
        type_(type),
        result_bytes_(type == kPrediction ? sizeof(Prediction) : kLenet5Classes * sizeof(float)),
        expected_(static_cast<size_t>(count) * result_bytes_),
        correct_before_(static_cast<size_t>(count) + 1) {}
  size_t result_bytes() const noexcept { return result_bytes_; }
  /// Images whose result in the plain pass is not a number.
  int64_t not_numbers() const noexcept { return not_numbers_; }

  /// Stores results of the plain pass; images come in order.
  void keep(int64_t first, int64_t images, const char* results) {
    std::memcpy(expected_.data() + static_cast<size_t>(first) * result_bytes_, results,
                static_cast<size_t>(images) * result_bytes_);
    for (int64_t i = 0; i < images; ++i) {
      const auto at = static_cast<size_t>(first + i);
      const int label = class_of(type_, results, i);
      not_numbers_ += label < 0;
      correct_before_[at + 1] = correct_before_[at] + (label == data_.labels[at]);
    }
  }

  /// Adds to the report the results of `images` images of the stream, from number `first` on. Results equal to the
  /// plain pass's, the usual case, are compared as blocks.
  void judge(int64_t first, int64_t images, const char* results, StreamingReport& report) const {
    report.images += images;
    while (images > 0) {
      const int64_t run = std::min(images, count_ - first % count_);
      const auto begin = static_cast<size_t>(first % count_), end = begin + static_cast<size_t>(run);
      const char* const expected = expected_.data() + begin * result_bytes_;
      const size_t bytes = (end - begin) * result_bytes_;
      if (std::memcmp(results, expected, bytes) == 0) {
        report.correct += correct_before_[end] - correct_before_[begin];
      } else {
        for (size_t i = begin; i < end; ++i) {
          const size_t at = (i - begin) * result_bytes_;
          report.differing += std::memcmp(results + at, expected + at, result_bytes_) != 0;
          report.correct += class_of(type_, results + at, 0) == data_.labels[i];
        }
      }
      first += run;
      images -= run;
      results += bytes;
    }
  }

 private:
  const ImageDataset& data_;
  int64_t count_;
  ElementType type_;
  size_t result_bytes_;
  std::vector<char> expected_;
  std::vector<int64_t> correct_before_;  // correct images before each one
  int64_t not_numbers_ = 0;
};

class Streaming {
 public:
  Streaming(const Session& session, const BuildOptions& options, const ImageDataset& data, int64_t count,
            const StreamingRequest& request)
      : chunk_(options.batch),
        count_(count),
        source_(options.device, data, count, request.passes, chunk_, options.input,
                session.graph().normalisation()),
        answers_(data, count, options.output),
        feed_(session.graph(), options, feed_options(request)) {}

  const StreamSource& source() const noexcept { return source_; }
  const StreamAnswers& answers() const noexcept { return answers_; }

  /// Runs one chunk after another through the first lane and waits for each. Then runs the other lanes once without
  /// judging them, so that a library's one-time set-up is not timed.
  void plain_pass() {
    feed_.for_each_lane([&](Feed::Slot& slot) {
      const bool plain = &slot.lane == &feed_.lane();
      const int64_t images = plain ? count_ : chunk_;
      std::memset(slot.answer_halves.data(), kNanByte, slot.answer_halves.bytes());
      for (int64_t first = 0; first < images && !interrupted(); first += chunk_) {
        slot.chunk = {first, std::min(chunk_, images - first)};
        enqueue(slot);
        slot.lane.executable().stream().synchronise();
        if (plain) answers_.keep(first, slot.chunk.images, slot.answers());
      }
      std::memset(slot.answer_halves.data(), kNanByte, slot.answer_halves.bytes());
    });
  }

  /// Bytes per second of copies alone: the chunks of a stream, on its lanes, into their inputs.
  double bus_bytes_per_s() {
    NvtxRange range("bus");
    int64_t images = 0;
    const double start = host_now_ns();
    feed_.deal(
        INT64_MAX, [&] { return images == 0 || host_now_ns() - start < kBusNs; },
        [&](Feed::Slot& slot) { slot.lane.copy_in(source_.at(slot.chunk.first), slot.chunk.images); },
        [&](Feed::Chunk chunk, char*) { images += chunk.images; });
    return static_cast<double>(images) * static_cast<double>(source_.image_bytes()) /
           (host_now_ns() - start) * 1e9;
  }

  void stream(int64_t total, StreamingReport& report, const std::function<void(int64_t)>& progress) {
    NvtxRange range("measure");
    const double start = host_now_ns();
    StreamWindows windows(ceil_div(total, chunk_), start);
    feed_.deal(
        total, [] { return !interrupted(); }, [&](Feed::Slot& slot) { enqueue(slot); },
        [&](Feed::Chunk chunk, char* results) {
          answers_.judge(chunk.first, chunk.images, results, report);
          std::memset(results, kNanByte, static_cast<size_t>(chunk.images) * answers_.result_bytes());
          if (windows.landed(chunk.images, host_now_ns()) && progress) progress(report.images);
        });
    report.wall_ns = host_now_ns() - start;
    report.window_ns = windows.summary();
  }

 private:
  static FeedOptions feed_options(const StreamingRequest& request) {
    FeedOptions options;
    options.lanes = request.lanes;
    return options;
  }

  void enqueue(Feed::Slot& slot) {
    slot.lane.enqueue(source_.at(slot.chunk.first), slot.chunk.images, slot.answers());
  }

  int64_t chunk_, count_;
  StreamSource source_;
  StreamAnswers answers_;
  Feed feed_;
};

// Predictions need a fifth of the bytes of logits; a saved plan decides itself.
ElementType result_type(const Session& session, const BuildOptions& options) {
  if (options.plan) return options.plan->output;
  return session.setup().whole_network_supports(options.batch, {options.input, kPrediction}) &&
                 options.execution == Plan::kFused
             ? kPrediction
             : ElementType::kFp32;
}

}  // namespace

StreamingReport stream_images(const Session& session, const ImageDataset& data, int64_t count,
                              const StreamingRequest& request, const std::function<void(int64_t)>& progress) {
  const Device device = session.device();
  DeviceGuard guard(device);
  BuildOptions build = session.call_options(request.chunk);
  build.output = result_type(session, build);
  if (build.plan) build.input = build.plan->input;
  Streaming streaming(session, build, data, count, request);
  StreamingReport report;
  report.request = request;
  report.input = build.input;
  report.output = build.output;
  report.image_bytes = streaming.source().image_bytes();
  report.result_bytes = streaming.answers().result_bytes();
  report.stored = streaming.source().stored();
  streaming.plain_pass();
  throw_if_interrupted();
  report.not_numbers = streaming.answers().not_numbers();

  const double before = device.is_cuda() ? streaming.bus_bytes_per_s() : NAN;
  if (report.request.passes == 0) {
    const double pass_ns =
        static_cast<double>(count) * static_cast<double>(report.image_bytes) / before * 1e9;
    report.request.passes = static_cast<int64_t>(std::ceil(kDefaultNs / pass_ns));
  }
  streaming.stream(report.request.passes * count, report, progress);
  // The better of two measurements, before and after: a short slowdown of the bus must not raise the share.
  if (device.is_cuda()) report.bus_bytes_per_s = std::max(before, streaming.bus_bytes_per_s());
  return report;
}

void print_streaming(Console& console, const StreamingReport& report) {
  const StreamingRequest& request = report.request;
  const auto rate = [](double ns) { return format_rate(1e9 / ns); };
  console.line();
  console.line(concat("streaming:  ", format_rate(report.images_per_s()), " images/s sustained: ",
                      format_count(report.images), " images (", format_count(request.passes),
                      request.passes == 1 ? " pass) in " : " passes) in ", format_time(report.wall_ns)),
               kLabel);
  if (report.window_ns.samples > 0) {
    console.line(concat("            in ", report.window_ns.samples, " windows: median ",
                        rate(report.window_ns.median), ", p10 ", rate(report.window_ns.p90), ", p90 ",
                        rate(report.window_ns.p10)),
                 kLabel);
  }
  console.line(
      concat("            ", to_string(report.input), " in, ", report.image_bytes, " bytes per image",
             report.input == ElementType::kFp32    ? " (normalised before the clock started)"
             : report.input == ElementType::kUint4 ? " (packed before the clock started)"
                                                   : "",
             "; ", report.output == ElementType::kFp32 ? "logits" : "class and probability", " out, ",
             report.result_bytes, " bytes; chunks of ", format_count(request.chunk)),
      kLabel);
  console.line(
      concat("            from ", format_count(report.stored), " images of ",
             std::isfinite(report.bus_bytes_per_s) ? "page-locked " : "",
             "host memory, copies of the data set (",
             format_bytes(static_cast<double>(report.stored) * static_cast<double>(report.image_bytes)), ")"),
      kLabel);
  if (std::isfinite(report.bus_bytes_per_s)) {
    console.line(concat("bus:        ", format_fixed(report.bytes_per_s() / 1e9, 1), " of ",
                        format_fixed(report.bus_bytes_per_s / 1e9, 1), " GB/s to the device = ",
                        format_percent(report.bus_fraction(), 1), "; ", counted(request.lanes, "stream"),
                        "; the bus alone: copies of the same chunks on the same streams"),
                 kLabel);
  }
  console.line(
      concat("            read correctly: ", format_percent(report.accuracy()), " of all images streamed; ",
             report.differing == 0
                 ? std::string("every result bit for bit that of a plain pass")
                 : concat(format_count(report.differing), " results NOT those of a plain pass")),
      kLabel);
}

}  // namespace lenslet
