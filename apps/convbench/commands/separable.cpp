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
#include <set>

#include "apps/common/output/table.h"
#include "apps/common/output/text.h"
#include "apps/common/results/attempt.h"
#include "apps/common/results/row_table.h"
#include "apps/convbench/bench/conv_bench.h"
#include "apps/convbench/bench/conv_candidate.h"
#include "apps/convbench/bench/study_bench.h"
#include "apps/convbench/commands/commands.h"
#include "apps/convbench/commands/tables.h"
#include "apps/convbench/separable/block.h"
#include "apps/convbench/session/reference_cost.h"
#include "framework/base/counted.h"
#include "framework/measuring/row_status.h"

namespace lenslet {
namespace {

constexpr MathMode kMath = MathMode::kFp32;
constexpr int64_t kBatch = 8;   // by default, on a GPU
constexpr int64_t kGroups = 4;  // of a shape: three parts, and the blocks

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
  std::string name() const {
    return std::isfinite(ns()) ? concat(depthwise.backend, " + ", pointwise.backend) : std::string("-");
  }
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

/// The state of the caches whose times choose candidates: hot, or cold if only that was measured.
const char* deciding_cache(const std::vector<ResultRow>& rows) {
  const bool hot =
      std::any_of(rows.begin(), rows.end(), [](const ResultRow& row) { return row.cache == "hot"; });
  return hot ? "hot" : "cold";
}

/// The fastest candidate in that layout, or of `backend` if that is given.
Choice fastest(const std::vector<ResultRow>& rows, TensorLayout layout, const std::string& backend) {
  Choice best;
  const std::string cache = deciding_cache(rows);
  for (const ResultRow& row : rows) {
    const bool candidate = row.status == row_status::kPassed && row.time.samples > 0 &&
                           layout_of(row) == layout && row.cache == cache &&
                           (backend.empty() || row.backend == backend);
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

Support support_of(const Conv2dProblem& problem, const ConvSpec& spec, const BenchSession& session) {
  Conv2dProblem laid_out = problem;
  laid_out.layout = spec.layout;
  return find_conv_backend(session.device().kind, spec.name).supports(laid_out, kMath);
}

/// The candidates that support a convolution.
std::vector<ConvSpec> supporting(const Conv2dProblem& problem, const std::vector<ConvSpec>& specs,
                                 const BenchSession& session) {
  std::vector<ConvSpec> found;
  for (const ConvSpec& spec : specs) {
    if (support_of(problem, spec, session)) found.push_back(spec);
  }
  return found;
}

/// Measures one of the three convolutions.
std::vector<ResultRow> measure_part(const Case& task, const char* part, const Conv2dProblem& problem,
                                    const std::vector<ConvSpec>& specs, BenchSession& session) {
  ConvBenchRequest request;
  request.problem = problem;
  request.problem.name = part;
  request.study = "d";
  request.labels = task.labels;
  request.labels.push_back({"part", part});
  request.specs = supporting(problem, specs, session);
  return bench_conv_into(request, session);
}

constexpr const char *kStandard = "standard", *kDepthwise = "depthwise", *kPointwise = "pointwise";
constexpr const char *kBlock = "block", *kBeside = "standard beside block";

/// The fastest candidates for one case, of all backends and of the vendor's.
struct Choices {
  Choice standard, vendor_standard;
  Pair block, vendor_block;
};

Choices choices_of(const std::vector<ResultRow>& rows, const std::string& vendor) {
  const auto of_part = [&](const char* part) {
    std::vector<ResultRow> found;
    for (const ResultRow& row : rows) {
      if (row.label("part") == part) found.push_back(row);
    }
    return found;
  };
  const std::vector<ResultRow> standard = of_part(kStandard), depthwise = of_part(kDepthwise),
                               pointwise = of_part(kPointwise);
  return {fastest_of_both(standard, ""), fastest_of_both(standard, vendor),
          fastest_pair(depthwise, pointwise, ""), fastest_pair(depthwise, pointwise, vendor)};
}

/// The median of that part by that backend in that state of the caches; NaN if missing.
double ns_of(const std::vector<ResultRow>& rows, const char* part, const std::string& backend,
             const std::string& cache) {
  for (const ResultRow& row : rows) {
    if (row.label("part") == part && row.backend == backend && row.cache == cache && row.time.samples > 0)
      return row.time.median;
  }
  return NAN;
}

const ConvBackend& open(const BenchSession& session, const Choice& choice) {
  return find_conv_backend(session.device().kind, choice.backend).open();
}

StudyCandidate candidate_of(const Case& task, const char* part, const std::string& backend,
                            TensorLayout layout, const Work& work) {
  StudyCandidate candidate;
  candidate.base.name = part;
  candidate.base.problem = task.shape.standard().to_string();
  candidate.base.backend = backend;
  candidate.base.math = to_string(kMath);
  candidate.base.layout = to_string(layout);
  candidate.base.study = "d";
  candidate.base.labels = task.labels;
  candidate.base.labels.push_back({"part", part});
  candidate.base.repro = task.repro;
  candidate.work = work;
  return candidate;
}

/// Times standard convolutions and blocks in turns.
void measure_blocks(const Case& task, const Choices& chosen, BenchSession& session) {
  DeviceGuard guard(session.device());
  const BenchOptions& options = session.options();
  const SeparableShape& shape = task.shape;
  const Work standard_work{shape.standard().flops(), shape.standard().bytes()};
  const Work block_work{shape.depthwise().flops() + shape.pointwise().flops(),
                        shape.depthwise().bytes() + shape.pointwise().bytes()};
  std::vector<std::unique_ptr<ConvArena>> arenas;
  std::vector<std::unique_ptr<SeparableBlock>> blocks;
  std::vector<StudyCandidate> candidates;
  const auto add_standard = [&](const Choice& choice) {
    if (!choice) return;
    StudyCandidate& candidate =
        candidates.emplace_back(candidate_of(task, kBeside, choice.backend, choice.layout, standard_work));
    const auto refusal = attempt(session.stream(), [&] {
      Conv2dProblem problem = shape.standard();
      problem.layout = choice.layout;
      arenas.push_back(
          std::make_unique<ReferenceArena>(problem, options.fill, static_cast<uint64_t>(options.seed)));
      auto prepared =
          std::make_unique<ConvCandidate>(choice.backend, open(session, choice), kMath, *arenas.back(),
                                          options.workspace_limit, session.stream());
      arenas.back()->allocate(session.device(), prepared->workspace_bytes(), false);
      prepared->describe(candidate.base);
      candidate.saved = prepared->kernel().products_saved();
      candidate.prepared = std::move(prepared);
    });
    if (refusal) candidate.refusal = *refusal;
  };
  const auto add_block = [&](const Pair& pair) {
    if (!std::isfinite(pair.ns())) return;
    StudyCandidate& candidate =
        candidates.emplace_back(candidate_of(task, kBlock, pair.name(), pair.depthwise.layout, block_work));
    const auto refusal = attempt(session.stream(), [&] {
      blocks.push_back(
          std::make_unique<SeparableBlock>(shape, pair.depthwise.layout, open(session, pair.depthwise),
                                           open(session, pair.pointwise), options, session.stream()));
      SeparableBlock& block = *blocks.back();
      candidate.base.launches = block.launches();
      candidate.base.detail = block.detail();
      candidate.base.workspace_bytes = static_cast<int64_t>(block.workspace_bytes());
      candidate.prepared = std::make_unique<TaskCandidate>(pair.name(), block, session.stream(),
                                                           [&block](Stream& stream) { block.run(stream); });
    });
    if (refusal) candidate.refusal = *refusal;
  };
  add_standard(chosen.standard);
  if (chosen.vendor_standard.backend != chosen.standard.backend) add_standard(chosen.vendor_standard);
  add_block(chosen.block);
  if (chosen.vendor_block.name() != chosen.block.name()) add_block(chosen.vendor_block);

  bench_study_into(
      std::move(candidates), [] {}, session,
      [&](std::vector<ResultRow>& rows) {
        for (ResultRow& row : rows) {
          if (row.name != kBlock || row.time.samples == 0) continue;
          const double standard_ns = ns_of(rows, kBeside, chosen.standard.backend, row.cache);
          const double vendor_ns = ns_of(rows, kBlock, chosen.vendor_block.name(), row.cache);
          row.reason = concat("in place of a standard convolution of ", format_us(standard_ns), " us (",
                              chosen.standard.backend, "), with ",
                              format_share(block_work.flops / standard_work.flops), " of its operations",
                              row.reason.empty() ? "" : "; ", row.reason);
          if (session.device().is_cuda()) row.ratio_to_cudnn = vendor_ns / row.time.median;
        }
      });
}

/// What measure_blocks() consists of: the fastest standard convolution and block, and those of the vendor, which may be
/// the same ones.
ExpectedGroup blocks_of(const SeparableShape& shape, bool with_vendor) {
  ExpectedGroup group;
  const Conv2dProblem standard = shape.standard(), depthwise = shape.depthwise(),
                      pointwise = shape.pointwise();
  for (int i = 0; i < (with_vendor ? 2 : 1); ++i) {
    group.runs.push_back({standard.flops(), standard.bytes()});
    group.runs.push_back({depthwise.flops() + pointwise.flops(), depthwise.bytes() + pointwise.bytes()});
    group.reference_products += reference_products(standard) + static_cast<double>(kReferenceMacs);
  }
  return group;
}

bool same_case(const ResultRow& a, const ResultRow& b) {
  return a.label("channels") == b.label("channels") && a.label("size") == b.label("size");
}

SeparableShape shape_of(const ResultRow& row) {
  return {Conv2dProblem::parse(row.problem).n, std::stoi(row.label("channels")),
          std::stoi(row.label("size"))};
}

}  // namespace

void print_separable(Console& console, const std::vector<ResultRow>& rows, const std::string& vendor) {
  Table table;
  const auto left = Table::Align::kLeft;
  table.column("C = K").column("H = W", Table::Align::kRight, Table::Use::kKey).column("operations");
  table.column("standard us").column("standard by", left);
  table.column("block us").column("block by", left).column("faster");
  table.column(vendor + " standard us").column(vendor + " block us").column(vendor + " faster");
  size_t cases = 0, without_times = 0;
  for (size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    const SeparableShape shape = shape_of(rows[begin]);
    std::vector<ResultRow> mine;
    for (; end < rows.size() && same_case(rows[end], rows[begin]); ++end) mine.push_back(rows[end]);
    const Choices chosen = choices_of(mine, vendor);
    const auto with_layout = [](const std::string& name, const Choice& choice) {
      return choice.layout == TensorLayout::kNhwc ? name + " NHWC" : name;
    };
    const std::string cache = deciding_cache(mine);
    const double standard_ns = ns_of(mine, kBeside, chosen.standard.backend, cache),
                 block_ns = ns_of(mine, kBlock, chosen.block.name(), cache),
                 vendor_standard_ns = ns_of(mine, kBeside, chosen.vendor_standard.backend, cache),
                 vendor_block_ns = ns_of(mine, kBlock, chosen.vendor_block.name(), cache);
    ++cases;
    if (std::isnan(standard_ns) && std::isnan(block_ns) && std::isnan(vendor_standard_ns) &&
        std::isnan(vendor_block_ns)) {
      ++without_times;
      continue;
    }
    table.row({std::to_string(shape.channels), std::to_string(shape.size),
               concat("1/", format_short(shape.standard().flops() /
                                         (shape.depthwise().flops() + shape.pointwise().flops()))),
               format_us(standard_ns), with_layout(chosen.standard.backend, chosen.standard),
               format_us(block_ns), with_layout(chosen.block.name(), chosen.block.depthwise),
               format_ratio(standard_ns / block_ns), format_us(vendor_standard_ns),
               format_us(vendor_block_ns), format_ratio(vendor_standard_ns / vendor_block_ns)});
  }
  if (rows.empty()) return;
  console.line();
  if (without_times < cases) {
    console.line(concat("3x3 with padding 1, batch ", shape_of(rows.front()).batch, ", fp32, medians"));
    console.print(table);
  }
  if (without_times > 0)
    console.line(
        concat(without_times, " of ", counted(cases, "case"),
               ": the standard convolution and the block were not timed in turns; --json and --csv have what "
               "was measured"));
}

void separable_into(const SeparableOptions& options, BenchSession& session) {
  const int batch = static_cast<int>(options.batch.value_or(session.device().is_cuda() ? kBatch : 1));
  const std::string vendor = vendor_of(session);
  const std::vector<ConvSpec> specs = registry_specs(session.device().kind, options.backends, kMath,
                                                     {TensorLayout::kNchw, TensorLayout::kNhwc});
  std::vector<SeparableShape> shapes;
  for (int channels : options.channels) {
    for (int size : options.sizes) shapes.push_back({batch, channels, size});
  }
  const auto measure_shape = [&](const SeparableShape& shape) {
    Case task;
    task.shape = shape;
    task.labels = {{"table", "separable"},
                   {"channels", std::to_string(shape.channels)},
                   {"size", std::to_string(shape.size)}};
    task.repro =
        concat("convbench separable --device ", session.device().to_string(), " --channels ", shape.channels,
               " --sizes ", shape.size, " --batch-size ", shape.batch, " --seed ", options.seed);
    std::vector<ResultRow> rows;
    const std::pair<const char*, Conv2dProblem> parts[] = {
        {kStandard, shape.standard()}, {kDepthwise, shape.depthwise()}, {kPointwise, shape.pointwise()}};
    for (const auto& [part, problem] : parts) {
      for (ResultRow& row : measure_part(task, part, problem, specs, session)) rows.push_back(std::move(row));
    }
    if (!session.stopped()) measure_blocks(task, choices_of(rows, vendor), session);
  };
  DeviceGuard guard(session.device());  // backends ask the current GPU what they support
  std::vector<ExpectedGroup> groups;
  std::set<std::string> with_rows;  // backends
  for (const SeparableShape& shape : shapes) {
    for (const Conv2dProblem& part : {shape.standard(), shape.depthwise(), shape.pointwise()}) {
      const std::vector<ConvSpec> some = supporting(part, specs, session);
      for (const ConvSpec& spec : some) with_rows.insert(spec.name);
      groups.push_back(expected_group(part, some));
    }
    groups.push_back(blocks_of(shape, with_rows.count(vendor) > 0));
  }
  for (const ConvSpec& spec : specs) {  // the others have no row that could give the reason
    if (with_rows.count(spec.name) == 0)
      session.refuse(spec.by_name ? spec.name : std::string(), ExitCode::kUnavailable,
                     support_of(shapes.front().standard(), spec, session).reason());
  }
  session.announce(groups, kMath);
  const std::vector<ResultRow> rows = session.each("separable", shapes, measure_shape, kGroups);
  print_separable(session.console(), rows, vendor);
}

ExitCode run_separable(const SeparableOptions& options) {
  check_backends(options.backends, options);
  for (int channels : options.channels) {
    for (int size : options.sizes)
      SeparableShape{static_cast<int>(options.batch.value_or(kBatch)), channels, size}.standard().check();
  }
  return with_session(options, "separable", BenchSession::Needs::kAnyDevice,
                      [&](BenchSession& session) { separable_into(options, session); });
}

}  // namespace lenslet
