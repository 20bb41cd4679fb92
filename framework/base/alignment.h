// Alignment of addresses.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lenslet {

/// Whether the address is a multiple of `bytes`.
inline bool is_aligned(const void* data, size_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % bytes == 0;
}

}  // namespace lenslet
