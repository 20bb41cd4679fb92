// Arrays of NumPy: .npy files, and .npz files, which are ZIP archives of them (numpy.save, savez, savez_compressed).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "framework/tensor/shape.h"

namespace lenslet {

/// An array in C order.
struct NpyArray {
  char kind = 'f';            // 'f' floating, 'i' signed, 'u' unsigned, 'b' bool
  size_t item = 4;            // bytes of a value
  std::vector<int64_t> dims;  ///< Outermost first; none for a scalar.
  std::vector<uint8_t> data;  // little-endian

  /// The number of values, not of bytes.
  int64_t count() const noexcept { return static_cast<int64_t>(data.size() / item); }
  /// Whether the array is [N, …] with N >= 1 samples of this shape, or [N, values] with each sample as one row.
  /// Dimensions of 1 may be inserted or missing anywhere, since the values keep their order.
  bool holds_samples_of(const Shape& sample) const;
  /// "2x3x32x32 of float32".
  std::string describe() const;
  /// The values as doubles. Throws DataError naming `origin` for integers that a double cannot hold exactly.
  std::vector<double> values(const std::string& origin) const;
};

/// Throws DataError naming `origin`: damaged, truncated, longer than its shape, in Fortran order, of another type than
/// bool, integers and floats up to 8 bytes in little-endian order.
NpyArray parse_npy(const std::vector<uint8_t>& bytes, const std::string& origin);

/// The most bytes that the programs read of an array file, and decompress of an archive.
inline constexpr size_t kMaxArrayBytes = size_t{1} << 32;

/// Throws to refuse an array. `array` has its type and dims, and no data.
using NpyCheck = std::function<void(const std::string& name, const NpyArray& array)>;

/// The arrays of an archive by name, without ".npy". Throws DataError naming `origin`: no ZIP archive, damaged, wrong
/// checksum, encrypted, with a name twice, of more than 4,096 members, or of more than `max_bytes` decompressed. Values
/// are decompressed only after `check` and if the array's shape agrees with its size.
std::map<std::string, NpyArray> parse_npz(const std::vector<uint8_t>& bytes, const std::string& origin,
                                          size_t max_bytes, const NpyCheck& check = {});

}  // namespace lenslet
