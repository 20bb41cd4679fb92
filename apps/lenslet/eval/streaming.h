// Streaming: sends a data set through the model from page-locked host memory, pass after pass, and compares the
// sustained rate with that of the bus alone. Chunks take the lanes of a Feed in turn (api/feed.h).
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>

#include "apps/common/fields/fields.h"
#include "apps/common/output/output.h"
#include "apps/lenslet/session/session.h"
#include "framework/measuring/statistics.h"
#include "models/digit/image_dataset.h"

namespace lenslet {

struct StreamingRequest {
  int lanes = 1;       // streams; 1 on the CPU
  int64_t chunk = 1;   // images copied and computed together
  int64_t passes = 0;  // over the data set; 0: as many as the bus copies in a second (CUDA only)
};

struct StreamingReport {
  StreamingRequest request;  // with the planned `passes`
  ElementType input = ElementType::kFp32, output = ElementType::kFp32;
  size_t image_bytes = 0, result_bytes = 0;  // of one image
  int64_t stored = 0;                        // images in page-locked memory: copies of the data set
  int64_t images = 0;                        // completed images; fewer than planned after a signal
  int64_t correct = 0, not_numbers = 0;
  int64_t differing = 0;  // images whose result differs in any bit from a plain pass
  double wall_ns = NAN;   // from the first enqueue to the last result
  TimeStats window_ns;  // nanoseconds per image, in windows of equally many chunks; no samples in a short run
  /// The rate of copies of the same chunks on the same streams, and nothing else; NaN on the CPU.
  double bus_bytes_per_s = NAN;

  double images_per_s() const { return static_cast<double>(images) / wall_ns * 1e9; }
  double bytes_per_s() const { return images_per_s() * static_cast<double>(image_bytes); }
  double bus_fraction() const { return bytes_per_s() / bus_bytes_per_s; }
  double accuracy() const {
    return images > 0 ? static_cast<double>(correct) / static_cast<double>(images) : 0;
  }

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("window_ns_per_image", self.window_ns);
    v("wall_ns", self.wall_ns);
    v("images", self.images);
    v("input", self.input);
    v("output", self.output);
    v("image_bytes", self.image_bytes);
    v("result_bytes", self.result_bytes);
    v("stored_images", self.stored);
    v("correct", self.correct);
    v("accuracy", self.accuracy());
    v("differing", self.differing);
    v("bytes_per_s", self.bytes_per_s());
    v({"streams", "streams"}, self.request.lanes);
    v({"chunk", "chunk"}, self.request.chunk);
    v({"passes", "passes"}, self.request.passes);
    v("images_per_s", self.images_per_s());
    v({"bus_bytes_per_s", "bus_bytes_per_s"}, self.bus_bytes_per_s);
    v({"bus_fraction", "bus_fraction"}, self.bus_fraction());
  }
};

/// Streams the first `count` images. Every result is compared with that of a plain pass: chunk after chunk, waiting for
/// each. After a signal it finishes the chunks in flight; `progress` receives the number of finished images.
StreamingReport stream_images(const Session& session, const ImageDataset& data, int64_t count,
                              const StreamingRequest& request,
                              const std::function<void(int64_t)>& progress = {});

void print_streaming(Console& console, const StreamingReport& report);

}  // namespace lenslet
