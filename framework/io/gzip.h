// gzip streams (RFC 1952) whose decompressed size is stated by their own first bytes, as an IDX header does.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lenslet {

/// Whether the bytes start a gzip stream (1f 8b).
bool is_gzip(const std::vector<uint8_t>& bytes);

/// The size that a file states of itself, from its first bytes (fewer than asked for where it is shorter).
/// May throw.
using StatedSize = std::function<size_t(const uint8_t* head, size_t head_bytes)>;

/// Decompresses one gzip member. The first `head_bytes` bytes come first and go to `stated_size`; only then
/// is the rest decompressed, into at most one byte more than it answered, so that a stream that expands
/// further stops there. Throws DataError naming `origin`: cut short (N of M bytes), damaged, a checksum that
/// does not fit, longer than stated, more than 4 GiB stated, bytes or a second member after the end.
std::vector<uint8_t> gunzip(const std::vector<uint8_t>& bytes, const std::string& origin, size_t head_bytes,
                            const StatedSize& stated_size);

}  // namespace lenslet
