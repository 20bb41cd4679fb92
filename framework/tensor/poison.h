// Bytes that memory is filled with before a result is written there, so that a missing write shows.
#pragma once

namespace lenslet {

/// Bytes of all ones are a NaN in fp32, fp16 and fp64, and one that arithmetic does not produce: reading out of bounds
/// or leaving out a write makes the result NaN.
inline constexpr int kNanByte = 0xff;
/// Another pattern, for a second run: NaNs written out of bounds would vanish in the first.
inline constexpr int kMarkByte = 0xa5;

}  // namespace lenslet
