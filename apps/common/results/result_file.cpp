#include "apps/common/results/result_file.h"

#include "apps/common/output/text.h"
#include "apps/common/results/document.h"
#include "framework/measuring/row_status.h"

namespace lenslet {
namespace {

// Width of the noise band above a ceiling: ceiling and row are separate measurements, each with its own spread.
constexpr double kCeilingNoise = 0.1;

}  // namespace

std::string ResultRow::label(std::string_view of) const {
  for (const auto& [name_of, text] : labels) {
    if (name_of == of) return text;
  }
  return {};
}

void apply_ceiling(ResultRow& row, const Ceilings& ceilings, const Work& work, MathMode math) {
  Work computed = work;
  computed.flops /= row.products_saved;
  const NearestCeiling nearest = binding_ceiling(ceilings, computed, math, row.cache == "hot");
  row.bound_by = nearest.by;
  if (row.time.median > 0) row.ceiling_fraction = nearest.best_ns / row.time.median;
  if (row.status == row_status::kPassed && row.ceiling_fraction > 1 + kCeilingNoise) {
    row.status = row_status::kSuspect;
    row.reason =
        concat(format_percent(row.ceiling_fraction, 0), " of the measured ceiling (", nearest.by, ")");
  }
}

std::string format_gflops(const ResultRow& row, double unit, double ns) {
  const std::string rate = format_short((std::isnan(ns) ? row.gflops() : row.flops / ns) / unit);
  return row.products_saved > 1 && rate != "-" ? rate + " effective" : rate;
}

std::string ResultFile::to_json(const std::function<void(JsonObject&)>& extra) const {
  std::string text;
  Document document([&](const std::string& part) { text += part; }, kSchema,
                    this_environment(tool, with_gpus, settings));
  document.status(interrupted, error);
  JsonObject& json = document.members();
  json("ceilings", ceilings != nullptr ? std::optional<Ceilings>(*ceilings) : std::nullopt);
  if (before) {
    json.group("conditions", [&](JsonObject& conditions) {
      conditions("before", *before)("after", read_conditions(before->device));
      conditions("other_cores", others ? others->cores() : NAN);
    });
  }
  if (extra) extra(json);
  document.list("results", rows);
  document.finish();
  return text;
}

}  // namespace lenslet
