#include "apps/lenslet/streaming.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "api/feed.h"
#include "apps/common/signals.h"
#include "apps/common/text.h"
#include "apps/lenslet/streaming_data.h"
#include "framework/nvtx.h"

namespace lenslet {
namespace {

constexpr double kBusNs = 250e6;    // each of the two measurements of the bus
constexpr double kDefaultNs = 1e9;  // what --streams takes without --repeat
constexpr int64_t kWindows = 20;    // of the sustained rate
constexpr int kPoisonByte = 0xff;

class Streaming {
 public:
  Streaming(const Session& session, const BuildOptions& options, const ImageDataset& data, int64_t count,
            const StreamingRequest& request)
      : chunk_(options.batch),
        count_(count),
        source_(options.device, data, count, request.passes, chunk_, options.input,
                session.graph().normalization()),
        answers_(data, count, options.output),
        feed_(session.graph(), options, feed_options(request)) {}

  const StreamSource& source() const noexcept { return source_; }
  const StreamAnswers& answers() const noexcept { return answers_; }

  /// One chunk after another through the first lane, each waited for. Then the other lanes once, unjudged: what a
  /// library sets up on its first call is no part of the rate.
  void plain_pass() {
    feed_.for_each_lane([&](Feed::Slot& slot) {
      const bool plain = &slot.lane == &feed_.lane();
      const int64_t images = plain ? count_ : chunk_;
      std::memset(slot.both.data(), kPoisonByte, slot.both.bytes());
      for (int64_t first = 0; first < images && !interrupted(); first += chunk_) {
        slot.chunk = {first, std::min(chunk_, images - first)};
        enqueue(slot);
        slot.lane.executable().stream().synchronize();
        if (plain) answers_.keep(first, slot.chunk.images, slot.answers());
      }
      std::memset(slot.both.data(), kPoisonByte, slot.both.bytes());
    });
  }

  /// Bytes a second of copies alone: the chunks of a stream, on its lanes, into its inputs.
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
    const int64_t chunks = (total + chunk_ - 1) / chunk_, window = chunks / kWindows;
    std::vector<double> windows;
    windows.reserve(static_cast<size_t>(kWindows));
    int64_t landed = 0;
    const double start = host_now_ns();
    double last = start;
    feed_.deal(
        total, [] { return !interrupted(); }, [&](Feed::Slot& slot) { enqueue(slot); },
        [&](Feed::Chunk chunk, char* results) {
          answers_.judge(chunk.first, chunk.images, results, report);
          std::memset(results, kPoisonByte, static_cast<size_t>(chunk.images) * answers_.result_bytes());
          if (window == 0 || ++landed % window != 0 || windows.size() == windows.capacity()) return;
          const double now = host_now_ns();
          windows.push_back((now - last) / static_cast<double>(window * chunk_));
          last = now;
          if (progress) progress(report.images);
        });
    report.wall_ns = host_now_ns() - start;
    report.window_ns = summarize(windows);
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

// Predictions are a fifth of the logits' bytes; a plan that was saved writes what it says.
ElementType result_type(const Session& session, const BuildOptions& options) {
  if (options.plan) return options.plan->output;
  if (options.execution != Plan::kFused || !session.graph().fused()) return ElementType::kFp32;
  const FusedModel& model = *session.graph().fused();
  const FusedRequest request{options.device, options.batch, options.math, options.input,
                             ElementType::kPrediction};
  const bool offered = options.fused_variant.empty()
                           ? !model.preferred(request).empty()
                           : static_cast<bool>(model.supports(options.fused_variant, request));
  return offered ? ElementType::kPrediction : ElementType::kFp32;
}

}  // namespace

StreamingReport stream_images(const Session& session, const ImageDataset& data, int64_t count,
                              const StreamingRequest& request, const std::function<void(int64_t)>& progress) {
  const Device device = session.device();
  DeviceGuard guard(device);
  BuildOptions build = session.build_options(request.chunk);
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
  // The better of a measurement before and one after: the share is never that of a bus which had a slow moment.
  if (device.is_cuda()) report.bus_bytes_per_s = std::max(before, streaming.bus_bytes_per_s());
  return report;
}

void print_streaming(Console& console, const StreamingReport& report) {
  const StreamingRequest& request = report.request;
  const auto rate = [](double ns) { return format_rate(1e9 / ns); };
  console.line();
  console.line(concat("streaming:  ", format_rate(report.images_per_s()), " images/s sustained: ",
                      format_count(report.images), " images (", format_count(request.passes),
                      request.passes == 1 ? " pass) in " : " passes) in ", format_time(report.wall_ns)));
  if (report.window_ns.samples > 0) {
    console.line(concat("            in ", report.window_ns.samples, " windows: median ",
                        rate(report.window_ns.median), ", p10 ", rate(report.window_ns.p90), ", p90 ",
                        rate(report.window_ns.p10)));
  }
  console.line(concat("            ", to_string(report.input), " in, ", report.image_bytes, " bytes an image",
                      report.input == ElementType::kFp32 ? " (normalised before the clock started)" : "",
                      "; ", report.output == ElementType::kFp32 ? "logits" : "class and probability",
                      " out, ", report.result_bytes, " bytes; chunks of ", format_count(request.chunk)));
  console.line(concat(
      "            from ", format_count(report.stored), " images of ",
      std::isfinite(report.bus_bytes_per_s) ? "page-locked " : "", "host memory, copies of the data set (",
      format_bytes(static_cast<double>(report.stored) * static_cast<double>(report.image_bytes)), ")"));
  if (std::isfinite(report.bus_bytes_per_s)) {
    console.line(concat("bus:        ", format_fixed(report.bytes_per_s() / 1e9, 1), " of ",
                        format_fixed(report.bus_bytes_per_s / 1e9, 1),
                        " GB/s to the device = ", format_percent(report.bus_fraction(), 1), "; ",
                        request.lanes, request.lanes == 1 ? " stream" : " streams",
                        "; the bus alone: copies of the same chunks on the same streams"));
  }
  console.line(concat(
      "            read rightly: ", format_percent(report.accuracy()), " of all images streamed; ",
      report.differing == 0 ? std::string("every result bit for bit that of a plain pass")
                            : concat(format_count(report.differing), " results NOT those of a plain pass")));
}

}  // namespace lenslet
