// Integer arithmetic for the sizes of blocks, tiles and buffers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lenslet {

/// a / b rounded up; a >= 0, b >= 1, a + b below 2^63.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
/// The smallest multiple of `unit` that is at least a.
constexpr int64_t round_up(int64_t a, int64_t unit) { return ceil_div(a, unit) * unit; }
/// Like round_up(), for bytes of memory: align_up(bytes, Buffer::kAlignment).
constexpr size_t align_up(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace lenslet
