#include "apps/lenslet/pages/pass_profile.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "api/feed.h"
#include "apps/common/results/result_file.h"
#include "apps/lenslet/pages/of_request.h"
#include "framework/base/error.h"
#include "framework/execution/profiler.h"
#include "framework/tensor/pixels.h"

namespace lenslet {

using Json = nlohmann::ordered_json;

namespace {

constexpr double kProfileMs = 40;  // a person waits for the page. Chosen by hand

void load_random(Executable& executable) {
  Lane lane(executable);
  lane.load(random_pixels(executable.batch() * lane.image_values(), 1).data());
}

}  // namespace

void check_shown_batch(int64_t batch) {
  if (batch < 1 || batch > kMaxShownBatch)
    throw UsageError(concat("the batch must be 1 to ", kMaxShownBatch, ", found ", batch));
}

Json pass_profile(const PicturePage& picture_page, const std::string& backends, int64_t batch,
                  const Ceilings& ceilings) {
  const DeviceGuard guard(picture_page.session().device());
  return of_request([&] {
    check_shown_batch(batch);
    Executable executable(picture_page.session().graph(), picture_page.build(backends, batch, true));
    load_random(executable);
    executable.run_checked();
    ProfileOptions options;
    options.warmup_ms = kProfileMs / 4;
    options.min_time_ms = kProfileMs;
    options.cold = options.copies = false;
    const Profile measured = lenslet::profile(executable, options);
    Json layers = Json::array();
    for (const LayerProfile& layer : measured.layers) {
      const Executable::Step& step = executable.steps()[layer.step];
      ResultRow row;
      row.cache = "hot";
      row.time = layer.hot;
      row.products_saved = step.op->products_saved();
      apply_ceiling(row, ceilings, step.work, step.math);
      Json json = {{"median_ns", layer.hot.median}, {"p10_ns", layer.hot.p10}, {"p90_ns", layer.hot.p90}};
      json["name"] = step.name;
      json["backend"] = step.backend;
      json["with"] = step.fused;
      json["ceiling_fraction"] = std::isfinite(row.ceiling_fraction) ? Json(row.ceiling_fraction) : Json();
      json["bound_by"] = row.bound_by;
      json["flops"] = step.work.flops;
      layers.push_back(std::move(json));
    }
    Json json = {{"batch", batch},
                 {"backends", backends},
                 {"layers", layers},
                 {"total_ns", measured.uninstrumented.median},
                 {"sum_ns", measured.layers_ns},
                 {"events_ns", measured.events_ns},
                 {"residual_ns", measured.residual_ns}};
    return json;
  });
}

}  // namespace lenslet
