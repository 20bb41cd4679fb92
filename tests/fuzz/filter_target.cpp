// Filters of `convbench filter`.
#include "apps/convbench/filter/filter.h"

#include <cmath>

#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"

using namespace lenslet;

LENSLET_FUZZ_TARGET(filter) {
  Filter filter;
  if (!accepts("filter.txt", [&] { filter = parse_filter(text_of(data, size), "filter.txt"); })) return;
  for (const int side : {filter.r, filter.s})
    check(side % 2 == 1 && side >= 1 && side <= 31, "odd sides up to 31");
  check(filter.taps.size() == static_cast<size_t>(filter.r) * static_cast<size_t>(filter.s),
        "a number for each tap");
  check(std::isfinite(filter.scale) && std::isfinite(filter.magnitude()), "its numbers are finite");
  check(filter.bank().size() == 9 * filter.taps.size(), "three colours in and out");
  check(!filter.exact_on_bytes() || filter.magnitude() * 255 < 0x1p24, "exact sums are fp32 values");
}

LENSLET_FUZZ_SEEDS(filter) {
  std::vector<Bytes> seeds;
  for (const char* text : {"0 -1 0\n-1 5 -1\n0 -1 0\n", "# blur\nscale 1/16\n1 2 1\n2 4 2 # row\n1 2 1",
                           "scale 0.0625\n1", "1 2\n", "1 2 3\n1\n", "scale 1/0\n1", "scale 1 2\n1",
                           "scale 1\nscale 2\n1", "1e3", "0x10", "inf", "+1", "99999999", "\r\n 1 \t\r\n"})
    seeds.push_back(test::bytes_of(text));
  // Above the largest double.
  seeds.push_back(test::bytes_of("scale 1000000/0." + std::string(305, '0') + "1\n1"));
  return seeds;
}
