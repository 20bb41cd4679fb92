// Warps: the mask of their exchanges. Internal: only for files that include CUDA headers. CUDA C++ Programming Guide,
// "Warp shuffle functions".
#pragma once

namespace lenslet {

/// The mask of an exchange in which every lane takes part.
inline constexpr unsigned kAllLanes = 0xffffffffu;

}  // namespace lenslet
