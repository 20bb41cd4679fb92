// The windows of a stream: nanoseconds per image, of the images that came.
#include "apps/lenslet/eval/stream_windows.h"

#include <gtest/gtest.h>

namespace lenslet {
namespace {

constexpr int64_t kChunk = 8, kChunksEach = 3, kChunks = StreamWindows::kWindows * kChunksEach;
constexpr double kImageNs = 100, kStartNs = 1e6;

/// The summary of a stream whose every image takes kImageNs. The last of `chunks` chunks has `last` images.
TimeStats streamed(int64_t chunks, int64_t last) {
  StreamWindows windows(chunks, kStartNs);
  double now_ns = kStartNs;
  for (int64_t i = 0; i < chunks; ++i) {
    const int64_t images = i + 1 < chunks ? kChunk : last;
    now_ns += kImageNs * static_cast<double>(images);
    EXPECT_EQ(windows.landed(images, now_ns), (i + 1) % kChunksEach == 0 && i < kChunks && chunks >= kChunks);
  }
  return windows.summary();
}

TEST(StreamWindows, AShorterLastChunkCountsItsImages) {
  for (const int64_t last : {kChunk, int64_t{1}}) {
    const TimeStats stats = streamed(kChunks, last);
    EXPECT_EQ(stats.samples, StreamWindows::kWindows);
    EXPECT_DOUBLE_EQ(stats.min, kImageNs) << last;
    EXPECT_DOUBLE_EQ(stats.max, kImageNs) << last;
  }
}

TEST(StreamWindows, ChunksAfterTheLastWindowHaveNone) {
  const TimeStats stats = streamed(kChunks + kChunksEach - 1, 1);
  EXPECT_EQ(stats.samples, StreamWindows::kWindows);
  EXPECT_DOUBLE_EQ(stats.max, kImageNs);
}

TEST(StreamWindows, AShortStreamHasNone) { EXPECT_EQ(streamed(StreamWindows::kWindows - 1, 1).samples, 0); }

}  // namespace
}  // namespace lenslet
