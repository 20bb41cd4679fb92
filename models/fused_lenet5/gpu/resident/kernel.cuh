// The resident kernel: a cluster computes LeNet-5 for images as they arrive. Internal: includes CUDA. Formula and
// sources: ../small.cu; that the kernel stays and polls is this project's own.
#pragma once

#include "framework/instructions/barrier.cuh"
#include "models/fused_lenet5/gpu/cluster/stages.cuh"
#include "models/fused_lenet5/gpu/lanes.cuh"
#include "models/fused_lenet5/gpu/resident/arguments.h"

namespace lenslet::cluster_lenet5 {

__device__ __forceinline__ uint64_t load_word(const uint64_t* at) {
  uint64_t word;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(word) : "l"(at) : "memory");
  return word;
}
__device__ __forceinline__ void store_word(uint64_t* at, uint64_t word) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(at), "l"(word) : "memory");
}
__device__ __forceinline__ int64_t global_ns() {
  int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

/// The leader polls one slot with 113 threads, one word each. wait() returns when the word has arrived, or when the
/// thread of the launch word has found a reason to end, which it then passes to every block as kEnds.
class SlotWatch {
 public:
  static constexpr uint64_t kEnds = 0;  // no launch word has this value

  __device__ SlotWatch(const ResidentArguments& args, int* ends)
      : args_(args), ends_(ends), launched_(global_ns()) {}

  /// The thread's word of the image's slot, which may not be there yet.
  __device__ uint64_t read(uint64_t image) const {
    return load_word(args_.memory->images[image % resident::kSlots] + threadIdx.x);
  }
  /// `word`: an earlier result of read(image), or 0. It is used if it is of the image.
  __device__ uint64_t wait(uint64_t image, uint64_t word) {
    began_ = 0;
    while (!settles(image, word)) word = read(image);
    return word;
  }

 private:
  /// Whether the wait is over. The launch word becomes kEnds if the kernel is to end.
  __device__ bool settles(uint64_t image, uint64_t& word) {
    const uint64_t tag = resident::tag_of(image);
    // If the kernel is to end, the results of these threads are ignored.
    if (threadIdx.x != resident::kLaunchWord)
      return resident::image_tag(word) == tag || atomicOr(ends_, 0) != 0;
    const int64_t now = global_ns();
    const bool leased = now - launched_ <= args_.turn.lease_ns;
    if (word == resident::launch_word(args_.turn.launch, tag) && leased) return true;
    if (began_ == 0) began_ = now;
    const bool named = word == 0 || resident::launch_of(word) == args_.turn.launch;
    if (named && leased && now - began_ <= args_.turn.idle_ns) return false;
    atomicExch(ends_, 1);
    word = kEnds;
    return true;
  }

  const ResidentArguments& args_;
  int* ends_;  // in shared memory; accessed only by atomics, because the polling threads are not ordered
  int64_t launched_, began_ = 0;
};

/// What a block keeps in shared memory: its share of fc1, and the parameters of the leader's last layers.
template <class T>
struct ResidentTile {
  static constexpr int kSharedBytes = (T::kFc1Share + T::kTailFloats) * 4;
  /// Whether the launch word is polled alone, and the image's words are read after it. That takes one more way over the
  /// bus, but dozens of clusters that poll whole slots delay the host's writes to them by more. Chosen by hand.
  static constexpr bool kLaunchWordFirst = T::kBlocks == 2;
};

/// Words of a row, at most, that hold the columns which a block reads: a part may begin within a word.
template <class T>
constexpr int kWordColumns = T::kImageColumns > 3 * resident::kWordPixels ? 4 : 3;

/// Whether a block needs a word of an image.
template <class T>
__device__ __forceinline__ bool needs_word(int block, int word) {
  const int row = 4 * position_row(block * T::kPositions);
  const int column = 4 * position_column(block * T::kPositions) / resident::kWordPixels;
  return word / 4 >= row && word / 4 < row + T::kImageRows && word % 4 >= column &&
         word % 4 < column + kWordColumns<T>;
}

// computes    logits and predictions of every n-th image in the slots of `memory`, one after another, until it is
//             stopped, is idle or its lease ends
// work split  as fused_lenet5_small_kernel; each cluster's block 0 polls the host's memory and sends the others their
//             parts of an image
// memory      62 to 107 KiB per block for its share of fc1, fc2 and fc3, and 6 to 15 KiB for its part of an image;
//             conv2's filters in registers
// requires    compute capability 9.0, all clusters at once, packed parameters of the same Tile (ResidentLenet5 ensures
//             it)
// measured    H200, a call with 1 / 8 / 64 images of bytes in host memory, fp32, predictions, wall time:
//             3.840 / 5.308 / 12.95 us (docs/results/2026-11-30-h200/latency.json)
template <class T>
__global__ void __launch_bounds__(kThreads, 1) LENSLET_CLUSTER(T::kBlocks)
    fused_lenet5_resident_kernel(const __grid_constant__ ResidentArguments args) {
  constexpr bool kLaunchWordFirst = ResidentTile<T>::kLaunchWordFirst;
  constexpr int kPartBytes = T::kBlocks * kF1 * 4, kShareBytes = T::kFc1Share * 4,
                kTailBytes = T::kTailFloats * 4;
  constexpr int kWordBytes = 8 * (T::kImageRows * kWordColumns<T> + 1);
  __shared__ BlockMemory<T> block;
  __shared__ uint64_t words[resident::kImageWords + 1];
  __shared__ uint64_t linear_arrived;
  __shared__ int ends;
  extern __shared__ __align__(128) float linear[];  // the share of fc1, then the tail

  const int rank = cluster_rank(), thread = static_cast<int>(threadIdx.x);
  const auto cluster = static_cast<int>(blockIdx.x) / T::kBlocks;
  const bool watches = rank == 0 && thread <= resident::kLaunchWord;
  uint32_t readers = 0;
#pragma unroll
  for (int r = 0; r < T::kBlocks; ++r)
    readers |= static_cast<uint32_t>(thread == resident::kLaunchWord || needs_word<T>(r, thread)) << r;
  if (thread == 0) {
    ends = 0;
    barrier_init(&block.parts_arrived);
    barrier_init(&block.image_arrived);
    barrier_init(&linear_arrived);
    fence_barrier_init();
    barrier_arrive_expect(&block.image_arrived, kWordBytes);
    if (rank == 0) barrier_arrive_expect(&block.parts_arrived, kPartBytes);
    barrier_arrive_expect(&linear_arrived, kShareBytes + kTailBytes);
    bulk_copy(linear, args.packed + T::kFc1At + rank * T::kFc1Share, kShareBytes, &linear_arrived);
    bulk_copy(linear + T::kFc1Share, args.packed + T::kTailAt, kTailBytes, &linear_arrived);
  }
  if (thread >= kF1 && thread < 128) block.f1[thread] = 0;
  __syncthreads();
  cluster_arrive_relaxed();
  Weights<T> weights{};
  weights.load_conv2(args.packed);
  barrier_wait(&linear_arrived, 0);
  const Places<T> places(rank);
  const int row0 = 4 * position_row(rank * T::kPositions),
            column0 = 4 * position_column(rank * T::kPositions);
  const int row = thread / kWordColumns<T>,
            column = column0 / resident::kWordPixels + thread % kWordColumns<T>;
  const bool reads = row < T::kImageRows && column < 4;
  SlotWatch watch(args, &ends);

  const auto step = static_cast<uint64_t>(args.turn.clusters);
  uint64_t word = 0;  // an earlier read of the image's word
  uint32_t parity = 0;
  for (uint64_t image = args.turn.first_image[cluster];; image += step, parity ^= 1) {
    weights.load_conv1(args.conv1);  // each time, so that the fully connected layers find registers
    cluster_wait();                  // until every block has begun, or has finished the previous image
    if (kLaunchWordFirst && rank == 0) {
      if (thread == resident::kLaunchWord) word = watch.wait(image, 0);
      __syncthreads();
    }
    if (watches) {
      if (!kLaunchWordFirst) {
        word = watch.wait(image, word);
      } else if (thread != resident::kLaunchWord) {
        word = watch.wait(image, watch.read(image));
      }
      const uint32_t to = shared_address(words + thread), barrier = shared_address(&block.image_arrived);
#pragma unroll
      for (int r = 0; r < T::kBlocks; ++r)
        store_async((readers >> r & 1) != 0, in_block(to, r), word, in_block(barrier, r));
      if (!kLaunchWordFirst) word = watch.read(image + step);  // over the bus while this image is computed
    }
    barrier_wait(&block.image_arrived, parity);
    // All blocks have the same launch word, so all take the same branch.
    if (words[resident::kLaunchWord] == SlotWatch::kEnds) break;
    if (reads) {
      const uint64_t seven = words[(row0 + row) * 4 + column];
      const int first = column * resident::kWordPixels - column0;
#pragma unroll
      for (int i = 0; i < resident::kWordPixels; ++i) {
        const int x = first + i;
        if (x >= 0 && x < T::kImageColumns)
          block.image[row * T::kImagePitch + x] =
              static_cast<float>(static_cast<uint32_t>(seven >> (8 * i)) & 255);
      }
    }
    __syncthreads();
    if (thread == 0) barrier_arrive_expect(&block.image_arrived, kWordBytes);
    conv1_stage(block, places, weights);
    __syncthreads();
    conv2_stage(block, places, weights);
    __syncthreads();
    weights.load_fc1_share(linear);
    fc1_stage(block, places, weights);
    if (rank == 0) {
      TailWeights<T> tail{};
      tail.load(linear + T::kFc1Share);
      barrier_wait(&block.parts_arrived, parity);
      if (thread == 0) barrier_arrive_expect(&block.parts_arrived, kPartBytes);
      const float logit = tail_stage(block, places, tail);
      if (thread < 32) {
        const auto slot = static_cast<int>(image % resident::kSlots);
        const uint64_t tag = resident::tag_of(image);
        const Prediction prediction = fused_lenet5::predict_from_lanes(logit);
        if (thread == 0) {
          store_word(args.memory->predictions + slot,
                     resident::answer_word(__float_as_uint(prediction.probability),
                                           static_cast<uint32_t>(prediction.label), tag));
        }
        if (thread < fused_lenet5::kClasses)
          store_word(args.memory->logits[slot] + thread,
                     resident::answer_word(__float_as_uint(logit), 0, tag));
      }
    }
    cluster_arrive();
  }
  if (rank == 0 && thread == 0) store_word(&args.memory->ended[cluster], args.turn.launch);
}

}  // namespace lenslet::cluster_lenet5
