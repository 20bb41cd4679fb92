// convbench separable: a depthwise-separable block against the standard convolution it replaces.
//
//   standard   y[n, k] = sum over c of w[k, c] (*) x[n, c]                        3x3, C * K * 9 products per pixel
//   block      m[n, c] = d[c] (*) x[n, c],  y[n, k] = sum over c of e[k, c] m[n, c]     9 * C + C * K products a pixel
// (F. Chollet, "Xception", 2017; A. Howard et al., "MobileNets", 2017; without their normalisation and activation.)
// Each part is measured separately on every backend and in both layouts. The block is then formed twice, from the
// fastest pair of one layout and only from the vendor's library, and timed in turns with the standard convolution on
// the same data.
#include <algorithm>
#include <cmath>

#include "apps/common/attempt.h"
#include "apps/common/table.h"
#include "apps/common/text.h"
#include "apps/convbench/bench/conv_bench.h"
#include "apps/convbench/bench/conv_contender.h"
#include "apps/convbench/commands.h"
#include "apps/convbench/separable/block.h"
#include "apps/measuring/row_table.h"

namespace lenslet {
namespace {

constexpr MathMode kMath = MathMode::kFp32;

/// One backend in one layout.
struct Choice {
  std::string backend;
  TensorLayout layout = TensorLayout::kNchw;
  double ns = INFINITY;
  explicit operator bool() const { return std::isfinite(ns); }
};

/// Two candidates of one layout.
struct Pair {
  Choice depthwise, pointwise;
  double ns() const { return depthwise.ns + pointwise.ns; }
  std::string name() const { return concat(depthwise.backend, " + ", pointwise.backend); }
};

/// The measurements of one number of channels and one size.
struct Case {
  SeparableShape shape;
  std::vector<std::pair<std::string, std::string>> labels;
  std::string repro;
};

const char* vendor_of(const BenchSession& session) { return session.device().is_cuda() ? "cudnn" : "onednn"; }

TensorLayout layout_of(const ResultRow& row) {
  return row.layout == to_string(TensorLayout::kNhwc) ? TensorLayout::kNhwc : TensorLayout::kNchw;
}

/// The fastest candidate in that layout, or of `backend` if that is given. Uses hot rows, or cold ones if only those
/// were measured.
Choice fastest(const std::vector<ResultRow>& rows, TensorLayout layout, const std::string& backend) {
  Choice best;
  const bool hot =
      std::any_of(rows.begin(), rows.end(), [](const ResultRow& row) { return row.cache == "hot"; });
  for (const ResultRow& row : rows) {
    const bool candidate = row.status == "PASSED" && row.time.samples > 0 && layout_of(row) == layout &&
                           (row.cache == "hot") == hot && (backend.empty() || row.backend == backend);
    if (candidate && row.time.median < best.ns) best = {row.backend, layout, row.time.median};
  }
  return best;
}

Choice fastest_of_both(const std::vector<ResultRow>& rows, const std::string& backend) {
  const Choice nchw = fastest(rows, TensorLayout::kNchw, backend),
               nhwc = fastest(rows, TensorLayout::kNhwc, backend);
  return nhwc.ns < nchw.ns ? nhwc : nchw;
}

Pair fastest_pair(const std::vector<ResultRow>& depthwise, const std::vector<ResultRow>& pointwise,
                  const std::string& backend) {
  Pair best;
  for (TensorLayout layout : {TensorLayout::kNchw, TensorLayout::kNhwc}) {
    const Pair pair{fastest(depthwise, layout, backend), fastest(pointwise, layout, backend)};
    if (pair.ns() < best.ns()) best = pair;
  }
  return best;
}

/// The candidates that support one of the three convolutions.
std::vector<ResultRow> measure_part(const Case& task, const char* part, const Conv2dProblem& problem,
                                    const std::vector<ConvCandidate>& candidates, BenchSession& session) {
  ConvBenchRequest request;
  request.problem = problem;
  request.problem.name = part;
  request.study = "d";
  request.labels = task.labels;
  request.labels.push_back({"part", part});
  for (const ConvCandidate& candidate : candidates) {
    Conv2dProblem laid_out = problem;
    laid_out.layout = candidate.layout;
    if (find_conv_backend(session.device().kind, candidate.name).supports(laid_out, kMath))
      request.candidates.push_back(candidate);
  }
  const size_t before = session.rows().size();
  bench_conv_into(request, session);
  return session.rows_from(before);
}

/// The medians of the table; NaN if missing.
struct Outcome {
  Case task;
  Choice standard, vendor_standard;
  Pair block, vendor_block;
  double standard_ns = NAN, vendor_standard_ns = NAN, block_ns = NAN, vendor_block_ns = NAN;
};

double median_of(const Measurement& measured) {
  const TimeStats& stats = measured.hot.samples > 0 ? measured.hot : measured.cold;
  return measured.status == "PASSED" && stats.samples > 0 ? stats.median : NAN;
}

const ConvBackend& open(const BenchSession& session, const Choice& choice) {
  return find_conv_backend(session.device().kind, choice.backend).open();
}

/// The row of a block, without a time.
ResultRow block_row(const Outcome& outcome, const Pair& pair) {
  ResultRow row;
  row.name = "block";
  row.problem = outcome.task.shape.standard().to_string();
  row.backend = pair.name();
  row.math = to_string(kMath);
  row.layout = to_string(pair.depthwise.layout);
  row.study = "d";
  row.labels = outcome.task.labels;
  row.labels.push_back({"part", "block"});
  row.repro = outcome.task.repro;
  return row;
}

/// Times standard convolutions and blocks in turns; returns the rows of the blocks.
void measure_blocks(Outcome& outcome, BenchSession& session) {
  DeviceGuard guard(session.device());
  const BenchOptions& options = session.options();
  const auto seed = static_cast<uint64_t>(options.seed);
  std::vector<std::unique_ptr<ConvArena>> arenas;
  std::vector<std::unique_ptr<Contender>> contenders;
  std::vector<std::pair<double*, const Pair*>> meant;  // the target of the median, and its block
  const auto add_standard = [&](const Choice& choice, double* ns) {
    if (!choice) return;
    const auto refusal = attempt(session.stream(), [&] {
      Conv2dProblem problem = outcome.task.shape.standard();
      problem.layout = choice.layout;
      arenas.push_back(std::make_unique<ReferenceArena>(problem, options.fill, seed));
      auto contender =
          std::make_unique<ConvContender>(choice.backend, open(session, choice), kMath, *arenas.back(),
                                          options.workspace_limit, session.stream());
      arenas.back()->allocate(session.device(), contender->workspace_bytes(), false);
      contenders.push_back(std::move(contender));
    });
    if (!refusal) meant.push_back({ns, nullptr});
  };
  const auto add_block = [&](const Pair& pair, double* ns) {
    if (!std::isfinite(pair.ns())) return;
    const auto refusal = attempt(session.stream(), [&] {
      contenders.push_back(std::make_unique<SeparableBlock>(
          pair.name(), outcome.task.shape, pair.depthwise.layout, open(session, pair.depthwise),
          open(session, pair.pointwise), options, session.stream()));
    });
    if (refusal) {
      session.add(rows_without_time(block_row(outcome, pair), refusal->status, refusal->reason,
                                    session.row_context()));
    } else {
      meant.push_back({ns, &pair});
    }
  };
  add_standard(outcome.standard, &outcome.standard_ns);
  if (outcome.vendor_standard.backend != outcome.standard.backend) {
    add_standard(outcome.vendor_standard, &outcome.vendor_standard_ns);
  }
  add_block(outcome.block, &outcome.block_ns);
  if (outcome.vendor_block.name() != outcome.block.name())
    add_block(outcome.vendor_block, &outcome.vendor_block_ns);

  std::vector<Contender*> rivals;
  rivals.reserve(contenders.size());
  for (auto& contender : contenders) rivals.push_back(contender.get());
  const std::vector<Measurement> measured = measure(rivals, session.stream(), session.measure_options());
  for (size_t i = 0; i < measured.size(); ++i) *meant[i].first = median_of(measured[i]);
  if (outcome.vendor_standard.backend == outcome.standard.backend)
    outcome.vendor_standard_ns = outcome.standard_ns;
  if (outcome.vendor_block.name() == outcome.block.name()) outcome.vendor_block_ns = outcome.block_ns;

  const Work work{outcome.task.shape.depthwise().flops() + outcome.task.shape.pointwise().flops(),
                  outcome.task.shape.depthwise().bytes() + outcome.task.shape.pointwise().bytes()};
  for (size_t i = 0; i < measured.size(); ++i) {
    const Pair* pair = meant[i].second;
    if (!pair) continue;
    ResultRow base = block_row(outcome, *pair);
    const auto& block = static_cast<const SeparableBlock&>(*contenders[i]);
    base.launches = block.launches();
    base.detail = block.detail();
    base.workspace_bytes = static_cast<int64_t>(block.workspace_bytes());
    base.reason =
        concat("in place of a standard convolution of ", format_us(outcome.standard_ns), " us (",
               outcome.standard.backend, "), with ",
               format_share(work.flops / outcome.task.shape.standard().flops()), " of its operations");
    std::vector<ResultRow> rows = rows_of(base, measured[i], session.row_context(), work, kMath);
    for (ResultRow& row : rows) {
      if (row.cache == "hot" && row.time.samples > 0)
        row.ratio_to_cudnn = outcome.vendor_block_ns / row.time.median;
      if (!session.device().is_cuda()) row.ratio_to_cudnn = NAN;
    }
    session.add(std::move(rows));
  }
}

std::string table_of(const std::vector<Outcome>& outcomes, const std::string& vendor) {
  Table table;
  const auto left = Table::Align::kLeft;
  table.column("C = K").column("H = W").column("operations");
  table.column("standard us").column("by", left).column("block us").column("by", left).column("faster");
  table.column(vendor + ": standard us").column("block us").column("faster");
  for (const Outcome& outcome : outcomes) {
    const SeparableShape& shape = outcome.task.shape;
    const auto with_layout = [](const std::string& name, const Choice& choice) {
      return choice.layout == TensorLayout::kNhwc ? name + " NHWC" : name;
    };
    table.row({std::to_string(shape.channels), std::to_string(shape.size),
               concat("1/", format_short(shape.standard().flops() /
                                         (shape.depthwise().flops() + shape.pointwise().flops()))),
               format_us(outcome.standard_ns), with_layout(outcome.standard.backend, outcome.standard),
               format_us(outcome.block_ns), with_layout(outcome.block.name(), outcome.block.depthwise),
               format_ratio(outcome.standard_ns / outcome.block_ns), format_us(outcome.vendor_standard_ns),
               format_us(outcome.vendor_block_ns),
               format_ratio(outcome.vendor_standard_ns / outcome.vendor_block_ns)});
  }
  return table.to_string();
}

}  // namespace

void separable_into(const SeparableOptions& options, BenchSession& session) {
  const std::string vendor = vendor_of(session);
  const std::vector<ConvCandidate> candidates = registry_candidates(
      session.device().kind, options.backends, kMath, {TensorLayout::kNchw, TensorLayout::kNhwc});
  std::vector<Outcome> outcomes;
  session.begin(static_cast<int64_t>(options.channels.size() * options.sizes.size()) * 5, "separable");
  for (int channels : options.channels) {
    for (int size : options.sizes) {
      if (session.stopped()) break;
      Outcome outcome;
      outcome.task.shape = {static_cast<int>(options.batch), channels, size};
      outcome.task.labels = {
          {"table", "separable"}, {"channels", std::to_string(channels)}, {"size", std::to_string(size)}};
      outcome.task.repro =
          concat("convbench separable --device ", session.device().to_string(), " --channels ", channels,
                 " --sizes ", size, " --batch-size ", options.batch, " --seed ", options.seed);
      const SeparableShape& shape = outcome.task.shape;
      const auto standard = measure_part(outcome.task, "standard", shape.standard(), candidates, session);
      const auto depthwise = measure_part(outcome.task, "depthwise", shape.depthwise(), candidates, session);
      const auto pointwise = measure_part(outcome.task, "pointwise", shape.pointwise(), candidates, session);
      outcome.standard = fastest_of_both(standard, "");
      outcome.vendor_standard = fastest_of_both(standard, vendor);
      outcome.block = fastest_pair(depthwise, pointwise, "");
      outcome.vendor_block = fastest_pair(depthwise, pointwise, vendor);
      if (!session.stopped()) measure_blocks(outcome, session);
      outcomes.push_back(std::move(outcome));
    }
  }
  session.console().line(concat("\n3x3 with padding 1, batch ", options.batch, ", fp32, medians"));
  session.console().print(table_of(outcomes, vendor));
}

ExitCode run_separable(const SeparableOptions& options) {
  for (int channels : options.channels) {
    for (int size : options.sizes)
      SeparableShape{static_cast<int>(options.batch), channels, size}.standard().validate();
  }
  return with_session(options, "separable", BenchSession::Needs::kAnyDevice,
                      [&](BenchSession& session) { separable_into(options, session); });
}

}  // namespace lenslet
