// The resident kernel: a cluster computes LeNet-5 for images as they arrive. Internal: includes CUDA. Formula and
// sources: ../small.cu; that the kernel stays and polls is this project's own.
#pragma once

#include "models/fused_lenet5/gpu/small/kernel.cuh"
#include "models/fused_lenet5/resident_protocol.h"

namespace lenslet::small_lenet5 {

struct ResidentArguments {
  resident::Memory* memory;  // page-locked host memory
  const float* packed;       // [Tile::kFloats], in the order of Tile
  resident::Turn turn;
  Conv1Parameters conv1;
};

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

/// The leader polls one slot with 112 threads, one word each. wait() returns when the word has arrived, or when thread
/// 0 has found a reason to end, which word 0 then passes to every block.
class SlotWatch {
 public:
  __device__ SlotWatch(const ResidentArguments& args, int* ends)
      : args_(args), ends_(ends), launched_(global_ns()) {}

  /// The thread's word of the image's slot, which may not be there yet.
  __device__ uint64_t read(uint64_t image) const {
    return load_word(&args_.memory->images[image % resident::kSlots][threadIdx.x]);
  }
  /// `word`: an earlier result of read(image), or 0. It is used if its tag fits.
  __device__ uint64_t wait(uint64_t image, uint64_t word) {
    const bool decides = threadIdx.x == 0;
    int64_t began = 0;
    for (;; word = read(image)) {
      const int64_t now = decides ? global_ns() : 0;  // while the load is on its way
      const bool leased = !decides || now - launched_ <= args_.turn.lease_ns;
      const uint64_t tag = resident::image_tag(word);
      // If thread 0 refuses an image, word 0 ends the kernel and the results of the other threads are ignored.
      if (tag == resident::tag_of(image) && leased) return word;
      if (decides) {
        if (began == 0) began = now;
        if (tag == resident::kStopTag || now - began > args_.turn.idle_ns || !leased) atomicExch(ends_, 1);
      }
      if (atomicOr(ends_, 0) != 0) return resident::kStopTag << 56;
    }
  }

 private:
  const ResidentArguments& args_;
  int* ends_;  // in shared memory; accessed only by atomics, because the polling threads are not ordered
  int64_t launched_;
};

/// Words of a row, at most, that hold the columns which a block reads: a part may begin within a word.
template <class T>
constexpr int kWordColumns = T::kImageColumns > 3 * resident::kWordPixels ? 4 : 3;

/// The blocks that need word `word` of an image, one bit each. Word 0 goes to all.
template <class T>
__device__ __forceinline__ bool needs_word(int block, int word) {
  const int row = 4 * position_row(block * T::kPositions);
  const int column = 4 * position_column(block * T::kPositions) / resident::kWordPixels;
  return word / 4 >= row && word / 4 < row + T::kImageRows && word % 4 >= column &&
         word % 4 < column + kWordColumns<T>;
}

// computes    logits and predictions of every n-th image in the slots of `memory`, one after another, until it is
//             stopped, is idle or its lease ends
// work split  as fused_lenet5_small_kernel; block 0 polls the host's memory and sends the others their parts of an
//             image
// memory      5 to 14 KiB per block; all weights in registers
// requires    compute capability 9.0, one cluster, packed parameters of the same Tile (ResidentLenet5 ensures it)
// measured    H100, a call with an image of bytes in host memory, fp32, prediction, wall time: 4.84 us
//             (docs/results/2026-11-27-h100/latency.json)
template <class T>
__global__ void __launch_bounds__(kThreads, 1) LENSLET_CLUSTER(T::kBlocks)
    fused_lenet5_resident_kernel(const __grid_constant__ ResidentArguments args) {
  constexpr int kPartBytes = T::kBlocks * kF1 * 4;
  __shared__ BlockMemory<T> block;
  __shared__ uint64_t words[resident::kImageWords];
  __shared__ int ends;

  const int rank = cluster_rank(), thread = static_cast<int>(threadIdx.x);
  const bool watches = rank == 0 && thread < resident::kImageWords;
  uint32_t readers = 0;
#pragma unroll
  for (int r = 0; r < T::kBlocks; ++r)
    readers |= static_cast<uint32_t>(thread == 0 || needs_word<T>(r, thread)) << r;
  const int word_bytes = 8 * (T::kImageRows * kWordColumns<T> + (needs_word<T>(rank, 0) ? 0 : 1));
  if (thread == 0) {
    ends = 0;
    barrier_init(&block.parts_arrived);
    barrier_init(&block.image_arrived);
    fence_barrier_init();
    barrier_expect(&block.image_arrived, word_bytes);
    if (rank == 0) barrier_expect(&block.parts_arrived, kPartBytes);
  }
  if (thread >= kF1 && thread < 128) block.f1[thread] = 0;
  __syncthreads();
  cluster_arrive_relaxed();
  Weights<T> weights{};
  weights.load_conv(args.packed, args.conv1);
  weights.load_fc1(args.packed, rank);
  TailWeights<T> tail{};
  if (rank == 0) tail.load(args.packed + T::kTailAt);
  const Places<T> places(rank);
  const int row0 = 4 * position_row(rank * T::kPositions),
            column0 = 4 * position_column(rank * T::kPositions);
  const int row = thread / kWordColumns<T>,
            column = column0 / resident::kWordPixels + thread % kWordColumns<T>;
  const bool reads = row < T::kImageRows && column < 4;
  SlotWatch watch(args, &ends);

  const auto step = static_cast<uint64_t>(args.turn.clusters);
  uint64_t ahead = 0;  // no tag
  uint32_t parity = 0;
  for (uint64_t image = args.turn.first_image;; image += step, parity ^= 1) {
    cluster_wait();  // until every block has begun, or has finished the previous image
    if (watches) {
      const uint64_t word = watch.wait(image, ahead);
      const uint32_t to = shared_address(words + thread), barrier = shared_address(&block.image_arrived);
#pragma unroll
      for (int r = 0; r < T::kBlocks; ++r)
        store_async((readers >> r & 1) != 0, in_block(to, r), word, in_block(barrier, r));
      ahead = watch.read(image + step);  // over the bus while this image is computed
    }
    barrier_wait(&block.image_arrived, parity);
    // All blocks have the same word 0, so all take the same branch.
    if (resident::image_tag(words[0]) == resident::kStopTag) break;
    if (reads) {
      const uint64_t word = words[(row0 + row) * 4 + column];
      const int first = column * resident::kWordPixels - column0;
#pragma unroll
      for (int i = 0; i < resident::kWordPixels; ++i) {
        const int x = first + i;
        if (x >= 0 && x < T::kImageColumns)
          block.image[row * T::kImagePitch + x] =
              static_cast<float>(static_cast<uint32_t>(word >> (8 * i)) & 255);
      }
    }
    __syncthreads();
    if (thread == 0) barrier_expect(&block.image_arrived, word_bytes);
    conv1_stage(block, places, weights);
    __syncthreads();
    conv2_stage(block, places, weights);
    __syncthreads();
    fc1_stage(block, places, weights);
    if (rank == 0) {
      barrier_wait(&block.parts_arrived, parity);
      if (thread == 0) barrier_expect(&block.parts_arrived, kPartBytes);
      const float logit = tail_stage(block, places, tail);
      if (thread < 32) {
        uint64_t* const answer = args.memory->answers[image % resident::kSlots];
        const uint64_t tag = resident::tag_of(image);
        if (thread < fused_lenet5::kClasses)
          store_word(answer + thread, resident::answer_word(__float_as_uint(logit), 0, tag));
        const Prediction prediction = predict_from_lanes(logit);
        if (thread == 0) {
          store_word(answer + resident::kPredictionWord,
                     resident::answer_word(__float_as_uint(prediction.probability),
                                           static_cast<uint32_t>(prediction.label), tag));
        }
      }
    }
    cluster_arrive();
  }
  if (rank == 0 && thread == 0) store_word(&args.memory->ended[args.turn.cluster], args.turn.launch);
}

}  // namespace lenslet::small_lenet5
