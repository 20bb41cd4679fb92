#include "apps/convbench/bench/ladder_shapes.h"

#include <algorithm>

#include "framework/base/error.h"

namespace lenslet {
namespace {

const std::vector<LadderShapes>& ladder_shapes() {
  // The shapes of layers/conv/problems/deep3x3.txt, which an installed program does not have.
  static const std::vector<const char*> deep = {
      "mb8ic32ih64oc128kh3", "mb8ic32ih64oc256kh3", "mb8ic32ih128oc128kh3", "mb8ic32ih128oc256kh3",
      "mb8ic64ih64oc128kh3", "mb8ic64ih64oc256kh3", "mb8ic64ih128oc128kh3", "mb8ic64ih128oc256kh3"};
  static const std::vector<LadderShapes> shapes = {
      {"implicit_gemm", "b", "im2col_gemm", true, deep},
      {"direct",
       "",
       "direct",
       false,
       {"mb1ic3ih4096oc3kh3ph1", "mb1ic3ih4096oc1kh3ph1", "mb1ic3ih4096oc3kh3sh2ph1",
        "mb1024ic6ih12oc16kh5n\"conv2\""}},
      {"tensor_core", "", "im2col_gemm", false, deep}};
  return shapes;
}

}  // namespace

const LadderShapes& ladder_shapes_of(const std::string& algorithm) {
  const auto found = std::find_if(ladder_shapes().begin(), ladder_shapes().end(),
                                  [&](const LadderShapes& shapes) { return algorithm == shapes.algorithm; });
  if (found == ladder_shapes().end()) {
    std::string known;
    for (const LadderShapes& shapes : ladder_shapes())
      known += concat(known.empty() ? "" : ", ", shapes.algorithm);
    throw UsageError(concat("no ladder '", algorithm, "'; there are: ", known,
                            " (each has its shapes in apps/convbench/bench/ladder_shapes.cpp)"));
  }
  return *found;
}

}  // namespace lenslet
