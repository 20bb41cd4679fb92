#include "layers/conv/gpu/ladder/conv_ladder.h"

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/device/device.h"

namespace lenslet {

// Every rung's file defines one of these getters; the products' are in the backends' own files.
namespace conv_rungs {
#define LENSLET_CONV_RUNG(algorithm, rung, change) const ConvBackend& algorithm##_##rung();
#define LENSLET_CONV_LADDER_END(algorithm, change)
#include "layers/conv/gpu/ladder/conv_ladder_table.inc"
#undef LENSLET_CONV_RUNG
#undef LENSLET_CONV_LADDER_END
}  // namespace conv_rungs
namespace conv_backends {
#define LENSLET_CONV_RUNG(algorithm, rung, change)
#define LENSLET_CONV_LADDER_END(algorithm, change) const ConvBackend& gpu_##algorithm();
#include "layers/conv/gpu/ladder/conv_ladder_table.inc"
#undef LENSLET_CONV_RUNG
#undef LENSLET_CONV_LADDER_END
}  // namespace conv_backends

namespace {

const std::vector<ConvRung>& all_rungs() {
#define LENSLET_CONV_RUNG(algorithm, rung, change) \
  {#algorithm "." #rung, #algorithm, change, &conv_rungs::algorithm##_##rung},
#define LENSLET_CONV_LADDER_END(algorithm, change) \
  {#algorithm, #algorithm, change, &conv_backends::gpu_##algorithm, true},
  static const std::vector<ConvRung> rungs = [] {
    std::vector<ConvRung> rows = {
#include "layers/conv/gpu/ladder/conv_ladder_table.inc"
    };
    const RungSetting* setting = nullptr;
    for (ConvRung& rung : rows) {
      if (!rung.is_product) setting = &dynamic_cast<const RungSetting&>(rung.getter());
      rung.math = setting->math();
      rung.layout = setting->layout();
    }
    return rows;
  }();
#undef LENSLET_CONV_RUNG
#undef LENSLET_CONV_LADDER_END
  return rungs;
}

}  // namespace

std::vector<std::string> conv_ladder_algorithms() {
  std::vector<std::string> names;
  for (const ConvRung& rung : all_rungs()) {
    if (rung.is_product) names.push_back(rung.algorithm);
  }
  return names;
}

std::vector<ConvRung> conv_ladder(const std::string& algorithm) {
  std::vector<ConvRung> rungs;
  for (const ConvRung& rung : all_rungs()) {
    if (rung.algorithm == algorithm) rungs.push_back(rung);
  }
  if (!rungs.empty()) return rungs;
  if (all_rungs().empty()) {
    throw UnavailableError(
        concat("no ladder '", algorithm, "': ladders are CUDA kernels, and ", cuda_status().reason));
  }
  throw UsageError(concat("no ladder '", algorithm, "'; there are: ", comma_list(conv_ladder_algorithms())));
}

}  // namespace lenslet
