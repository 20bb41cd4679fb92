// Internal: the filters' matrix of Winograd's F(4x4, 3x3), one for both kinds of device, as is its error bound
// (winograd_accuracy.h). Sources: gpu/winograd/transforms.cuh.
#pragma once

namespace lenslet {

/// G for the points 0, 1, -1, 1/2, -2 and infinity.
inline constexpr double kWinogradG43[6][3] = {{1, 0, 0},
                                              {1 / 3.0, 1 / 3.0, 1 / 3.0},
                                              {-1 / 3.0, 1 / 3.0, -1 / 3.0},
                                              {-16 / 15.0, -8 / 15.0, -4 / 15.0},
                                              {1 / 15.0, -2 / 15.0, 4 / 15.0},
                                              {0, 0, 1}};

}  // namespace lenslet
