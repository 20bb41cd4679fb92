// best_ns: the time of work that is repeated and least disturbed. Internal to the measuring of ceilings.
#pragma once

#include <algorithm>
#include <cmath>

#include "framework/base/interruption.h"
#include "framework/device/stream.h"

namespace lenslet {

/// The shortest of repeated runs after one to warm up: at least `repeats` of them, and up to 50 within about
/// `budget_ns`. A ceiling is what the machine can reach, so the least disturbed run is the result. Throws
/// InterruptedError between two runs if stopped().
template <typename Enqueue>
double best_ns(Stream& stream, int repeats, double budget_ns, const Enqueue& enqueue) {
  enqueue();
  stream.synchronise();
  Event begin(stream.device()), end(stream.device());
  double best = INFINITY;
  double spent = 0;
  for (int i = 0; i < repeats || (spent < budget_ns && i < 50); ++i) {
    throw_if_stopped("measuring ceilings");
    begin.record(stream);
    enqueue();
    end.record(stream);
    stream.synchronise();
    const double ns = end.ns_since(begin);
    best = std::min(best, ns);
    spent += ns;
  }
  return best;
}

}  // namespace lenslet
