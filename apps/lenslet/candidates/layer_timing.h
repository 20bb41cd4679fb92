// Times and verifies the operators of layers: `lenslet tune` and the page of `lenslet serve` use it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "apps/lenslet/candidates/layer_candidate.h"
#include "apps/measuring/measure.h"
#include "framework/execution/tuner.h"

namespace lenslet {

/// Sets a row's status, reason, noise and time, of repeated runs.
template <typename Row>
void take_over(const Measurement& measured, Row& row) {
  row.status = measured.status;
  row.reason = measured.reason.empty() ? measured.note : measured.reason;
  row.noise = measured.noise;
  row.time = measured.hot;
}

/// What measure_layers() finds of a candidate besides the members of TuneCandidate.
struct LayerFinding {
  double products_saved = 0;         // Operator::products_saved(); 0 if it could not be prepared
  std::optional<ResultError> error;  // the largest of all checks
};

/// Sets the status and times of each candidate, as tune_candidates() lists them; one that the fp64 reference does not
/// verify gets no time. The candidates of one region take turns. Regions that differ in their weights only are timed
/// once. `progress` gets the number of candidates that are done. Ends early after a signal.
std::vector<LayerFinding> measure_layers(const MeasureOptions& options, LayerStage& stage,
                                         std::vector<TuneCandidate>& candidates,
                                         const std::function<void(int64_t done)>& progress = {});

}  // namespace lenslet
