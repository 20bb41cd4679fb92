// Lane: takes images through one executable and its answers back, from host memory or in a GPU's memory. Feed: deals
// the images of a call to the lanes of one device, chunk by chunk, so that one chunk is copied while another computes.
// Internal: Model, the accuracy of `lenslet bench` and the streaming measurement of `lenslet eval` use them.
//
//   lane 0   in 0 | compute 0 | out 0     in 3 | ...
//   lane 1          in 1 | compute 1 | out 1     in 4 | ...
//   lane 2                 in 2 | compute 2 | out 2
//
// One thread copies ordinary memory several times slower than the bus carries it. So each lane of a call from ordinary
// memory has a thread, which copies chunks to page-locked memory. Page-locked memory is read in place by one thread.
// Chunk boundaries depend on the number of images and the lanes only, never on load, so that results repeat bit for
// bit. Dealing allocates nothing after prepare().
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "api/chunks.h"
#include "api/model.h"
#include "api/model_setup.h"
#include "framework/execution/executable.h"

namespace lenslet {

/// Where the answers of a call go.
struct Answers {
  /// `probabilities_to`: a second array for the probabilities of predictions, or null.
  Answers(void* to, float* probabilities_to = nullptr) noexcept : data(to), probabilities(probabilities_to) {}

  void* data = nullptr;  // logits [count, ...] or predictions [count]; labels [count] if they are apart
  float* probabilities = nullptr;  // [count], of predictions as two arrays; else null
  /// The answers of the images from `first` on. `bytes`: the size of an answer in `data`.
  Answers from(int64_t first, size_t bytes) const noexcept {
    return {static_cast<char*>(data) + static_cast<size_t>(first) * (probabilities ? sizeof(int32_t) : bytes),
            probabilities ? probabilities + first : nullptr};
  }
};

/// Bytes of an image, and of an answer, of that type. For an answer, kFp32 means the values that the network writes.
size_t bytes_of_image(const Graph& graph, ElementType type);
size_t bytes_of_answer(const Graph& graph, ElementType type);

/// Throws UsageError for a negative number of images, and for one whose images or answers take more than PTRDIFF_MAX
/// bytes.
void check_image_count(int64_t count, size_t image_bytes, size_t answer_bytes);
/// Whether that GPU can read the memory over the bus where it is; no for the CPU.
bool is_page_locked(Device device, const void* memory);

/// Not thread-safe. The executable's device must be current (DeviceGuard), but for run(), run_on_device() and load().
class Lane {
 public:
  /// Builds an executable. Throws like Executable.
  Lane(const Graph& graph, const BuildOptions& options);
  /// Uses the caller's executable, which must outlive the lane.
  explicit Lane(Executable& executable) : Lane(nullptr, &executable) {}

  Executable& executable() noexcept { return executable_; }
  /// Images per pass.
  int64_t batch() const noexcept { return executable_.batch(); }
  /// Element types that a pass reads and writes.
  InputOutput ends() const noexcept { return {executable_.plan().input, executable_.plan().output}; }
  /// Values of one image.
  int64_t image_values() const noexcept { return image_values_; }
  /// As bytes_of_image() and bytes_of_answer().
  size_t image_bytes(ElementType type) const { return bytes_of_image(executable_.graph(), type); }
  size_t answer_bytes(ElementType type) const { return bytes_of_answer(executable_.graph(), type); }
  /// Bytes of `images` images in the types of a pass.
  size_t input_bytes(int64_t images) const { return static_cast<size_t>(images) * image_bytes(ends().input); }
  size_t output_bytes(int64_t images) const {
    return static_cast<size_t>(images) * answer_bytes(ends().output);
  }

  /// Runs one pass over `count` <= batch() images of call.input in host memory and waits. `answers` are logits
  /// [count, ...] or predictions [count], by call.output. On the CPU a full pass reads and writes the caller's memory
  /// in place if the types agree.
  void run(const void* images, int64_t count, Answers answers, InputOutput call);
  /// Enqueues one pass over batch() images in the GPU's memory, of a pass's types, after the work of `stream`. Both
  /// ends are read and written in place. Does not wait. Only the first call allocates: an event, if the plan has
  /// several steps or a workspace. Calls on different streams take turns if they share memory; while a stream is
  /// captured, the caller orders them.
  void run_on_device(const void* images, Answers answers, Stream& stream);
  /// Fills the input of the pass with batch() images of bytes and waits.
  void load(const uint8_t* pixels);

  // The parts of run(), for Feed. The conversions work on the host, the others on the executable's stream.
  /// Copies images of type `given` to `to` in the type of the pass, as convert_pixels() does.
  void convert_in(const void* images, int64_t count, ElementType given, void* to) const;
  /// Enqueues the copy of `count` images in the type of the pass to its input.
  void copy_in(const void* images, int64_t count);
  /// Enqueues copy_in(), a pass, and the copy of `count` answers. The remaining images of the pass are those of earlier
  /// calls. On a GPU both ends must be page-locked for the call to return before the pass is done.
  void enqueue(const void* images, int64_t count, void* answers);
  /// Copies answers of the pass to `to` as type `wanted`; converts logits to predictions if needed. Turns probabilities
  /// into logits in place.
  void convert_out(void* answers, int64_t count, ElementType wanted, Answers to) const;

 private:
  Lane(std::unique_ptr<Executable> own, Executable* borrowed);
  void run_on_host_memory(const void* images, int64_t count, void* answers);

  std::unique_ptr<Executable> own_;
  Executable& executable_;
  int64_t image_values_, answer_values_;
  bool writes_probabilities_;
  std::unique_ptr<PinnedBuffer> staging_;  // normalised images on their way to a GPU
  std::vector<float> written_;             // answers of a pass that are converted to another form
  std::unique_ptr<Event> used_;            // the last use of memory that calls on the device share
  void* last_stream_ = nullptr;            // of that use
};

struct FeedOptions {
  int lanes = 1;  // executables, each with its own stream; all replay the choices of the first
  int depth = 1;  // chunks in flight per lane
  /// Copies images to page-locked memory first; otherwise the caller's memory is page-locked.
  bool staged = false;
  bool may_use_fewer_lanes = false;  // at least one, if memory for more is short
  /// As many lanes as keep a GPU's bus busy with chunks of `chunk_bytes` of input: from ordinary memory up to
  /// `threads`, since each lane copies in its own thread; up to kLanesInPlace if the GPU reads the memory `in_place`;
  /// on the CPU one.
  static FeedOptions for_host_memory(Device device, bool whole_network, size_t chunk_bytes, int threads,
                                     bool in_place);
};

/// A call that the lanes of one or several devices compute. It refers to the caller's memory.
struct SharedCall {
  const void* images;  // of the whole call, as `types` states
  Answers answers;     // for all images, in their order
  InputOutput types;   // of images and answers
  Chunks& chunks;      // from which every lane takes its next one
};

/// Feeds calls of any size to the lanes of one device, chunk by chunk.
class Feed {
 public:
  /// The most lanes that feed a GPU: three quarters of 16 cores, chosen by hand. In place one thread serves all lanes,
  /// and 2 hide a pass behind the copies; with more, as many passes wait behind the last copy.
  static constexpr int kMaxLanes = 12, kLanesInPlace = 2;
  using Chunk = lenslet::Chunk;
  /// Memory for one chunk in flight, and for the answers of two, so that the host reads one chunk's answers while the
  /// next chunk computes.
  struct Slot {
    Slot(Lane& its_lane, bool staged);
    char* answers() const {
      return static_cast<char*>(answer_halves.data()) + half * lane.output_bytes(lane.batch());
    }

    Lane& lane;
    PinnedBuffer images;         // empty unless staged
    PinnedBuffer answer_halves;  // answers of two chunks, each lane.batch() of them
    Event done;
    Chunk chunk;      // in flight; no images if none is
    size_t half = 0;  // 0 or 1: that of the chunk in flight
  };

  /// Builds the lanes. Throws like Executable.
  Feed(const Graph& graph, const BuildOptions& options, const FeedOptions& feed);
  /// Allocates the slots before the first use. Throws MemoryError.
  void prepare();
  bool is_prepared() const noexcept { return !slots_.empty(); }

  /// The first lane, whose choices all lanes replay. This feed owns it; only one thread may run it at a time.
  Lane& lane() noexcept { return *lanes_.front(); }
  /// Calls visit(slot) with the first slot of each lane, to run a pass there before chunks are dealt.
  template <typename Visit>
  void for_each_lane(Visit&& visit) {
    prepare();
    for (size_t i = 0; i < lanes_.size(); ++i) visit(slots_[i]);
  }

  /// Threads that copy for it: one for each lane. Memory that is read in place needs one.
  int threads() const noexcept { return static_cast<int>(lanes_.size()); }
  /// Images of a chunk if `lanes` lanes share a call of `count` images: each gets as many chunks of as many images. At
  /// least 1,024, so that the last lanes may get none, and at most `max_chunk`.
  static int64_t chunk_size(int64_t count, int64_t lanes, int64_t max_chunk) noexcept;
  /// Images of a pass, of every lane. A chunk has at most as many.
  int64_t batch() const noexcept { return lanes_.front()->batch(); }

  /// Runs `count` images of call.input in host memory through the lanes; needs `staged` unless reads_in_place().
  /// Returns how many images were computed, counted from the first: fewer than `count` if `progress` ended the call.
  /// `progress` is called in the caller's thread, also for the last images computed when an exception leaves this
  /// function.
  int64_t run(const void* images, int64_t count, Answers answers, InputOutput call, const Progress& progress);

  /// Computes chunks of the call in the lanes [first, end), until there is none to take or `off`; needs prepare().
  /// Calls landed(chunk) in this thread. Throws after a fault, with the chunks that were not computed given back.
  /// Different threads may serve different lanes at the same time.
  void serve(int64_t first, int64_t end, const SharedCall& call, const std::atomic<bool>& off,
             const std::function<void(Chunk)>& landed);
  /// Whether a GPU reads those images where they are; one thread then serves all lanes.
  bool reads_in_place(const void* images, ElementType type);

  /// Deals the chunks of [0, total) to the slots in turn while more() is true. enqueue(slot) enqueues slot.chunk on the
  /// lane's stream; its answers go to slot.answers(). land(chunk, answers) receives them on the host. A slot gets its
  /// next chunk when the previous one is done, and only then does the previous one land.
  template <typename More, typename Enqueue, typename Land>
  void deal(int64_t total, More&& more, Enqueue&& enqueue, Land&& land) {
    prepare();
    int64_t first = 0;
    const auto next_chunk = [&](Chunk& chunk) {
      if (first >= total || !more()) return false;
      chunk = {first, std::min(batch(), total - first)};
      first += chunk.images;
      return true;
    };
    deal_to(0, lanes_.size(), next_chunk, enqueue, land);
  }

 private:
  // The slots of the lanes [first, end), in the order in which they get chunks: one of each lane, then the second ones.
  Slot& slot_at(size_t first, size_t end, size_t turn) {
    const size_t lanes = end - first;
    return slots_[turn / lanes * lanes_.size() + first + turn % lanes];
  }

  // deal() to the lanes [first, end). next_chunk(chunk) sets the chunk, or returns false at the end. After a fault the
  // slots have the chunks that did not land.
  template <typename NextChunk, typename Enqueue, typename Land>
  void deal_to(size_t first, size_t end, NextChunk&& next_chunk, Enqueue&& enqueue, Land&& land) {
    const size_t turns = (end - first) * static_cast<size_t>(options_.depth);
    const auto move_on = [&](Slot& slot, bool ends) {
      if (slot.chunk.images > 0) slot.done.synchronise();
      const Chunk before = slot.chunk;
      char* const answers = slot.answers();
      slot.chunk = {};
      const bool more = !ends && next_chunk(slot.chunk);
      slot.half = 1 - slot.half;
      try {
        if (more) {
          enqueue(slot);
          slot.done.record(slot.lane.executable().stream());
        }
      } catch (...) {
        if (before.images > 0) land(before, answers);  // computed before the fault
        throw;
      }
      if (before.images > 0) land(before, answers);
      return more;
    };
    for (size_t i = 0; i < turns; ++i) slot_at(first, end, i).chunk = {};  // left by a fault
    size_t turn = 0;
    while (move_on(slot_at(first, end, turn), false)) turn = (turn + 1) % turns;
    for (size_t i = 1; i < turns; ++i) move_on(slot_at(first, end, (turn + i) % turns), true);
  }

  FeedOptions options_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Slot> slots_;  // one per lane, repeated up to the depth
  Chunks chunks_;            // of the present call of run()
};

}  // namespace lenslet
