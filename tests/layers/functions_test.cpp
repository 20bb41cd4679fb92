// The functions that the CPU computes as polynomials, against those of the C library in fp64, over floats of every
// exponent.
#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

#include "layers/activation/activation_functions.h"

namespace lenslet {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Wraps an always-inline function in a lambda, so that it can be an argument.
#define LENSLET_CALL(function) [](float x) { return function(x); }

// Every 1,021st float from `low` to `high`: the error is at most `max_units` units in the last place of the result.
template <typename Found, typename Wanted>
void expect_ulp(float low, float high, double max_units, const Found& found, const Wanted& wanted) {
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 1021) {
    const auto pattern = static_cast<uint32_t>(bits);
    float x;
    std::memcpy(&x, &pattern, sizeof x);
    if (!(x >= low && x <= high)) continue;
    const double right = wanted(double{x});
    const double unit = std::ldexp(1.0, std::ilogb(std::fmax(std::fabs(right), FLT_MIN)) - 23);
    const double units = std::fabs(double{found(x)} - right) / unit;
    if (units <= max_units) continue;
    ADD_FAILURE() << units << " units at " << x;
    return;
  }
}

TEST(ActivationFunctions, AreWithinThreeUnitsOfFp64) {
  expect_ulp(-103, 88.7f, 1.5, LENSLET_CALL(exponential), [](double x) { return std::exp(x); });
  expect_ulp(-87.3f, 0, 1.5, LENSLET_CALL(exp_nonpositive), [](double x) { return std::exp(x); });
  expect_ulp(-kInfinity, kInfinity, 3, LENSLET_CALL(hyperbolic_tangent),
             [](double x) { return std::tanh(x); });
  expect_ulp(-kInfinity, kInfinity, 2.5, LENSLET_CALL(error_function), [](double x) { return std::erf(x); });
  expect_ulp(0, 1, 2.5, LENSLET_CALL(log_of_one_plus), [](double x) { return std::log1p(x); });
  expect_ulp(-87, 1000, 3, LENSLET_CALL(log_of_one_plus_exp),
             [](double x) { return x > 50 ? x : std::log1p(std::exp(x)); });
  expect_ulp(-87, 1000, 2.5, LENSLET_CALL(logistic), [](double x) { return 1 / (1 + std::exp(-x)); });
  expect_ulp(-kInfinity, 0, 2.5, LENSLET_CALL(below_zero), [](double x) { return std::expm1(x); });
}

TEST(ActivationFunctions, KeepNanAndTheSignOfZero) {
  for (float value : {exponential(NAN), hyperbolic_tangent(NAN), error_function(NAN),
                      log_of_one_plus_exp(NAN), logistic(NAN)})
    EXPECT_TRUE(std::isnan(value));
  for (float value : {hyperbolic_tangent(-0.0f), error_function(-0.0f)}) EXPECT_TRUE(std::signbit(value));
  for (float value : {hyperbolic_tangent(-kInfinity), error_function(-kInfinity)}) EXPECT_EQ(value, -1);
  EXPECT_EQ(exponential(88.8f), kInfinity);
  EXPECT_EQ(exponential(-kInfinity), 0);
}

}  // namespace
}  // namespace lenslet
