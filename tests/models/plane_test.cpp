// Operations on planes of values: resizing, distances, a fitted quadratic, components, percentiles.
#include "models/digit/plane.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace lenslet {
namespace {

Plane random_plane(int width, int height, unsigned seed) {
  std::mt19937 random(seed);
  Plane plane(width, height);
  for (float& value : plane.values) value = static_cast<float>(random() % 256);
  return plane;
}

double sum(const Plane& plane) {
  double total = 0;
  for (const float value : plane.values) total += static_cast<double>(value);
  return total;
}

TEST(Plane, ResizingToTheSameSizeCopies) {
  const Plane plane = random_plane(7, 5, 1);
  const Plane same = resize(plane, {2, 1, 6, 4}, 4, 3);
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 4; ++x) EXPECT_EQ(same.at(x, y), plane.at(x + 2, y + 1));
  }
}

TEST(Plane, ShrinkingAveragesAndKeepsTheMean) {
  Plane plane(4, 2);
  plane.values = {0, 4, 8, 8, 4, 8, 8, 8};
  const Plane half = resize(plane, {0, 0, 4, 2}, 2, 1);
  EXPECT_FLOAT_EQ(half.at(0, 0), 4);
  EXPECT_FLOAT_EQ(half.at(1, 0), 8);
  for (const int size : {3, 7, 19, 40}) {
    const Plane big = random_plane(41, 53, 2);
    const Plane small = resize(big, {0, 0, 41, 53}, size, size);
    EXPECT_NEAR(sum(small) / (size * size), sum(big) / (41 * 53), 1e-3) << size;
  }
}

TEST(Plane, GrowingInterpolatesWithoutOvershoot) {
  Plane plane(2, 1);
  plane.values = {0, 100};
  const Plane big = resize(plane, {0, 0, 2, 1}, 8, 4);
  EXPECT_EQ(big.at(0, 0), 0);
  EXPECT_EQ(big.at(7, 3), 100);
  for (int x = 1; x < 8; ++x) EXPECT_GE(big.at(x, 2), big.at(x - 1, 2));
  // Between the centres of pixels, so that the picture does not shift.
  EXPECT_EQ(resize(plane, {0, 0, 2, 1}, 4, 1).values, (std::vector<float>{0, 25, 75, 100}));
  EXPECT_EQ(resize(Plane(1, 1, 5), {0, 0, 1, 1}, 3, 3).values, std::vector<float>(9, 5));
}

TEST(Plane, DistancesEqualThoseCountedOneByOne) {
  for (const auto& [width, height] :
       {std::pair(1, 1), std::pair(13, 9), std::pair(1, 17), std::pair(30, 2)}) {
    Plane plane = random_plane(width, height, 3);
    plane.values[plane.values.size() / 2] = 255;
    const Plane distance = distance_to(plane, 230);
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        double nearest = 1e9;
        for (int v = 0; v < height; ++v) {
          for (int u = 0; u < width; ++u) {
            if (plane.at(u, v) >= 230) nearest = std::min(nearest, std::hypot(u - x, v - y));
          }
        }
        ASSERT_NEAR(distance.at(x, y), nearest, 1e-4) << x << ", " << y;
      }
    }
  }
  EXPECT_GT(distance_to(Plane(5, 5), 1).at(2, 2), 7);
}

TEST(Plane, FitsAQuadraticExactly) {
  Plane plane(30, 20);
  for (int y = 0; y < 20; ++y) {
    for (int x = 0; x < 30; ++x)
      plane.at(x, y) = static_cast<float>(100 + 2 * x - y + 0.1 * x * x - 0.05 * x * y + 0.2 * y * y);
  }
  const Plane samples = sample(plane, 3);
  const Quadratic fit(samples, std::vector<uint8_t>(samples.values.size(), 1), 3, 30, 20);
  for (int y = 0; y < 20; ++y) {
    for (int x = 0; x < 30; ++x) EXPECT_NEAR(fit.at(x, y), plane.at(x, y), 1e-3);
  }
  // Too few points for six coefficients: their mean.
  std::vector<uint8_t> few(samples.values.size(), 0);
  few[0] = few[5] = 1;
  EXPECT_NEAR(Quadratic(samples, few, 3, 30, 20).at(7, 7), (samples.values[0] + samples.values[5]) / 2, 1e-3);
}

TEST(Plane, FindsConnectedComponents) {
  Plane plane(6, 3);
  plane.values = {1, 0, 0, 0, 0, 0,  //
                  0, 2, 0, 0, 3, 0,  //
                  0, 0, 0, 0, 4, 0};
  std::vector<int32_t> labels;
  const std::vector<Component> found = connected_components(plane, 0, labels);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].mass, 3);
  EXPECT_EQ(found[0].peak, 2);
  EXPECT_TRUE(found[0].at_border);
  EXPECT_EQ(found[1].box.x0, 4);
  EXPECT_EQ(found[1].box.y1, 3);
  EXPECT_EQ(labels[plane.index(1, 1)], labels[0]);
}

TEST(Plane, PercentileOfFewValues) {
  std::vector<float> values = {5, 1, 3};
  EXPECT_EQ(percentile(values, 0.5), 3);
  EXPECT_EQ(percentile(values, 1), 5);
  values.clear();
  EXPECT_EQ(percentile(values, 0.5), 0);
}

}  // namespace
}  // namespace lenslet
