// Warps and warpgroups: their sizes, and the mask of a warp's exchanges. Internal: only for files that include CUDA
// headers. CUDA C++ Programming Guide, "Warp shuffle functions".
#pragma once

namespace lenslet {

/// The mask of an exchange in which every lane takes part.
inline constexpr unsigned kAllLanes = 0xffffffffu;

inline constexpr int kWarpgroup = 128;  // threads that execute a wgmma together
inline constexpr int kWarpgroupWarps = kWarpgroup / 32;
inline constexpr int kWarpgroupRows = 64;  // rows of the product of a wgmma

}  // namespace lenslet
