// The limits by which launches are chosen: those of all supported GPUs, and those of one GPU. Internal. No CUDA type
// appears here, so that a choice can be tested for GPUs that are not there.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/device/device.h"

namespace lenslet {

/// What every supported GPU has; CUDA C++ Programming Guide, "Technical specifications per compute capability".
struct GpuLimits {
  static constexpr int kGridX = INT32_MAX, kGridYZ = 65535;  // blocks
  static constexpr int kWarp = 32;                           // threads
  static constexpr int kSharedBytes = 48 * 1024;             // of a block, without opting in
  /// Shared memory of a block, opted in, from compute capability 9.0 on.
  static constexpr int kHopperSharedBytes = 227 * 1024;
  static constexpr int kAsyncCopies = 80;            // compute capability with cp.async, tf32 and mma.sync
  static constexpr int kClusters = 90, kWgmma = 90;  // compute capability with clusters of blocks, with wgmma
  /// Compute capability whose launches may begin before the last one ends.
  static constexpr int kEarlyLaunch = 90;
  static constexpr int kPortableCluster = 8;  // blocks of a cluster, without opting in
  /// Elements that a kernel counts in an int: the last block may reach past the end.
  static constexpr int64_t kElements = INT32_MAX - 4096;
};

/// Blocks for that many elements. At most the limit of a grid's x: a kernel whose backend admits more elements loops.
inline unsigned grid_blocks(int64_t elements, int64_t elements_per_block) {
  return static_cast<unsigned>(std::min<int64_t>(ceil_div(elements, elements_per_block), GpuLimits::kGridX));
}

/// What launches are chosen by on one GPU.
struct GpuTraits {
  int compute_capability = 0;               // 90 for 9.0
  int multiprocessors = 0;                  // their number
  size_t shared_bytes_per_block_optin = 0;  // of a block, opted in
};

/// No, with a reason that begins with `who` ("mma needs"), for a GPU of a lower compute capability than
/// `min_capability`.
inline Support needs_capability(const std::string& who, int min_capability, int found, const char* remedy) {
  if (found >= min_capability) return Support::yes();
  return Support::no(concat(who, " compute capability ", capability_text(min_capability), ", this GPU has ",
                            capability_text(found), ": ", remedy));
}

/// No, with a reason that begins with `who`, for a GPU whose blocks have less shared memory than `bytes`.
inline Support needs_shared_bytes(const char* who, size_t bytes, const GpuTraits& gpu, const char* remedy) {
  const size_t limit = gpu.shared_bytes_per_block_optin;
  if (bytes <= limit) return Support::yes();
  return Support::no(
      concat(who, " needs ", bytes, " bytes of shared memory a block, this GPU has ", limit, ": ", remedy));
}

}  // namespace lenslet
