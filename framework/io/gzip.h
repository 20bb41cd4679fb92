// gzip streams (RFC 1952) whose first decompressed bytes state the decompressed size, as an IDX header does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lenslet {

/// Whether the bytes begin with gzip's magic (1f 8b).
bool is_gzip(const std::vector<uint8_t>& bytes);

/// Numbers of decompressed bytes: those that the content states, and those that the caller needs, from the first on.
struct GzipSize {
  /// By default all bytes are needed.
  GzipSize(size_t all, size_t needed_bytes = SIZE_MAX) : stated(all), needed(needed_bytes) {}
  size_t stated;  ///< bytes
  size_t needed;  ///< bytes; more than stated means all
};

/// Returns the decompressed size, from the first bytes of the content. `head_bytes` is smaller than requested if the
/// content is shorter. May throw.
using StatedSize = std::function<GzipSize(const uint8_t* head, size_t head_bytes)>;

/// Decompresses one gzip member. Decompresses `head_bytes` bytes first and passes them to `stated_size`. Then
/// decompresses at most one byte more than stated, so that a stream that expands further stops there. If fewer bytes
/// are needed, decompresses only those and does not check the rest. Throws DataError naming `origin`: truncated (N of
/// M bytes), damaged, wrong checksum, longer than stated, more than 4 GiB stated, bytes or a second member after the
/// end.
std::vector<uint8_t> gunzip(const std::vector<uint8_t>& bytes, const std::string& origin, size_t head_bytes,
                            const StatedSize& stated_size);

}  // namespace lenslet
