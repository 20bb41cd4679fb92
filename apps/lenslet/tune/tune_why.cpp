#include "apps/lenslet/tune/tune_why.h"

#include <vector>

#include "apps/common/output/text.h"
#include "framework/base/lists.h"

namespace lenslet {
namespace {

// Smaller differences are noise, or explain nothing.
constexpr double kNotable = 1.05;

std::string reached(const Timed& one) {
  return concat(format_share(one.effort.share(one.time)), " of ", one.effort.bound_by);
}

}  // namespace

void Effort::add(const Work& work, double products_saved, MathMode math, const Ceilings& ceilings) {
  Effort part;
  part.flops = work.flops;
  part.computed = work.flops / products_saved;
  part.bytes = work.bytes;
  const NearestCeiling nearest =
      binding_ceiling(ceilings, {part.computed, part.bytes, work.working_set}, math, true);
  part.best_ns = part.largest_ns_ = nearest.best_ns;
  part.bound_by = nearest.by;
  add(part);
}

void Effort::add(const Effort& other) {
  flops += other.flops;
  computed += other.computed;
  bytes += other.bytes;
  best_ns += other.best_ns;
  if (other.largest_ns_ <= largest_ns_) return;
  largest_ns_ = other.largest_ns_;
  bound_by = other.bound_by;
}

Effort effort_of(const Executable& executable, const Ceilings& ceilings) {
  Effort effort;
  for (const Executable::Step& step : executable.steps())
    effort.add(step.work, step.op->products_saved(), step.math, ceilings);
  return effort;
}

std::string why_chosen(const Timed& chosen, const Timed& next) {
  const double ratio = next.time.median / chosen.time.median;
  std::string text = concat(chosen.name, ": ", format_time(chosen.time.median), ", ");
  if (ratio >= kNotable) {
    text += concat(format_short(ratio), " times as fast as ");
  } else if (ratio > 1 / kNotable) {
    text += "as fast as ";
  } else {
    text += "first in rank and within the spread as fast as ";
  }
  text += concat(next.name, " (", format_time(next.time.median), ")");

  std::vector<std::string> pros, cons;
  // `better`: the next candidate's value divided by the chosen one's.
  const auto fact = [&](double better, const std::string& what) {
    if (better >= kNotable) pros.push_back(what);
    if (better <= 1 / kNotable) cons.push_back(what);
  };
  const auto megaflop = [](double flops) { return format_short(flops / 1e6) + " MFLOP"; };
  fact(next.effort.computed / chosen.effort.computed,
       concat("computes ", megaflop(chosen.effort.computed), " instead of ", megaflop(next.effort.computed)));
  fact(next.effort.bytes / chosen.effort.bytes,
       concat("moves ", format_bytes(chosen.effort.bytes), " instead of ", format_bytes(next.effort.bytes)));
  const double share = chosen.effort.share(chosen.time), other = next.effort.share(next.time);
  const bool same = chosen.effort.bound_by == next.effort.bound_by;
  fact(share / other,
       concat("reaches ", reached(chosen), " instead of ", same ? format_share(other) : reached(next)));
  if (!pros.empty()) text += concat(", because it ", listed(pros, "and"));
  if (!cons.empty()) text += concat(", although it ", listed(cons, "and"));
  if (pros.empty() && cons.empty() && std::isfinite(share)) text += concat("; it reaches ", reached(chosen));
  return text;
}

}  // namespace lenslet
