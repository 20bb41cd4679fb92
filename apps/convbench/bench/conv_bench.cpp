#include "apps/convbench/bench/conv_bench.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "apps/common/output/text.h"
#include "apps/common/results/attempt.h"
#include "apps/convbench/bench/study_bench.h"
#include "apps/convbench/session/reference_cost.h"
#include "framework/base/error.h"
#include "framework/base/shell_word.h"
#include "framework/base/text.h"
#include "framework/measuring/row_status.h"
#include "layers/conv/conv_problem_options.h"

namespace lenslet {
namespace {

// Options of this run that differ from the defaults and change what a row measures.
std::string chosen_options(const BenchOptions& options) {
  std::string text = concat(" --seed ", options.seed);
  if (options.fill != reference::Fill::kRandom) text += concat(" --dist ", dist_name(options.fill));
  if (options.workspace_limit != SIZE_MAX) text += concat(" --workspace-limit ", options.workspace_limit);
  return text;
}

// The commands that repeat a measurement: ours, and oneDNN's benchmark for the same problem string.
void add_repro(ResultRow& row, const ConvBenchRequest& request, const ConvSpec& spec,
               const BenchSession& session) {
  if (!request.unsupported.empty()) return;  // no command measures it
  if (!request.repro.empty()) {
    row.repro = request.repro;
    return;
  }
  const Device device = request.on_cpu ? Device::cpu() : session.device();
  const std::string layout = lower_case(to_string(spec.layout));
  const size_t dot = spec.name.find('.');  // "cpu.direct", "implicit_gemm.03_thread_tile"
  const std::string backend =
      request.on_cpu && dot != std::string::npos ? spec.name.substr(dot + 1) : spec.name;
  const bool half = request.problem.type != ElementType::kFp32;
  const std::string what =
      backend.find('.') != std::string::npos
          ? concat("ladder ", backend.substr(0, dot))
          : concat("run --backend ", backend, " --math ", to_string(spec.math), " --layout ", layout,
                   half ? concat(" --dt ", to_string(request.problem.type)) : "");
  row.repro = concat("convbench ", what, " --device ", device.to_string(), chosen_options(session.options()),
                     " --problem ", shell_word(row.problem));
  if (spec.math == MathMode::kFp16) return;  // benchdnn has no such mode for fp32 tensors
  row.repro_benchdnn =
      concat("benchdnn --conv --mode=P --dir=FWD_I", device.is_cuda() ? " --engine=gpu" : "",
             spec.math == MathMode::kTf32 ? " --attr-fpmath=tf32" : "",
             half ? concat(" --dt=", benchdnn_name(request.problem.type)) : "", " --stag=", layout,
             " --dtag=", layout, " ", shell_word(request.problem.to_benchdnn()));
}

// "direct: takes fp32 tensors, not fp16": as an error, which has no column for the backend.
std::string with_backend(const std::string& backend, const std::string& reason) {
  return reason.find(backend) == std::string::npos ? concat(backend, ": ", reason) : reason;
}

void refuse(StudyCandidate& candidate, const ConvSpec& spec, BenchSession& session, const NoResult& refusal) {
  candidate.prepared.reset();
  candidate.refusal = refusal;
  session.refuse(spec.by_name ? spec.name : std::string(), refusal.code,
                 with_backend(spec.name, refusal.reason));
}

ConvCandidate& conv_of(const StudyCandidate& candidate) {
  return static_cast<ConvCandidate&>(*candidate.prepared);
}

std::unique_ptr<ConvArena> make_arena(const ConvBenchRequest& request, TensorLayout layout,
                                      const BenchOptions& options, Device device) {
  if (request.arena) return request.arena(layout);
  Conv2dProblem problem = request.problem;
  problem.layout = layout;
  ConvArena::check_memory(problem, device);
  return std::make_unique<ReferenceArena>(problem, options.fill, static_cast<uint64_t>(options.seed));
}

/// Prepares the candidate in the arena of its layout. The first candidate of a layout creates the arena.
void prepare(StudyCandidate& candidate, const ConvSpec& spec, std::unique_ptr<ConvArena>& arena,
             const ConvBenchRequest& request, BenchSession& session, Stream& stream) {
  const auto refusal = attempt(stream, [&] {
    if (!request.unsupported.empty()) throw UnavailableError(request.unsupported);
    if (!arena) arena = make_arena(request, spec.layout, session.options(), stream.device());
    const ConvBackend& backend = spec.open();
    if (const Support support = backend.supports(arena->problem(), spec.math); !support)
      throw UnavailableError(support.reason());
    auto prepared = std::make_unique<ConvCandidate>(spec.name, backend, spec.math, *arena,
                                                    session.options().workspace_limit, stream);
    if (session.options().measure.verify != Verify::kOff) prepared->prepare_epilogues();
    prepared->describe(candidate.base);
    candidate.saved = prepared->kernel().products_saved();
    candidate.prepared = std::move(prepared);
  });
  if (refusal) refuse(candidate, spec, session, *refusal);
}

// The CPU's row in a GPU's table is hot only, and the GPU's ceilings do not apply to it.
RowContext context_of(const ConvBenchRequest& request, const BenchSession& session) {
  return request.on_cpu ? RowContext{true, false, nullptr} : session.row_context();
}

ResultRow base_row(const ConvBenchRequest& request, const ConvSpec& spec, const BenchSession& session) {
  ResultRow row;
  row.name = request.name.empty() ? request.problem.name : request.name;
  row.problem = request.problem_text.empty() ? request.problem.to_string() : request.problem_text;
  row.backend = spec.name;
  row.dt = to_string(request.problem.type);
  row.math = to_string(spec.math);
  row.layout = to_string(spec.layout);
  row.study = request.study;
  row.labels = request.labels;
  row.labels.insert(row.labels.end(), spec.labels.begin(), spec.labels.end());
  add_repro(row, request, spec, session);
  if (request.published) row.published = request.published(row);
  return row;
}

/// Allocates an arena's memory; if that fails, refuses the candidates that use it, with the reason.
void allocate(ConvArena& arena, std::vector<StudyCandidate>& candidates, const ConvBenchRequest& request,
              BenchSession& session, Stream& stream) {
  size_t workspace = 0;
  std::vector<size_t> users;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!candidates[i].prepared || &conv_of(candidates[i]).arena() != &arena) continue;
    users.push_back(i);
    workspace = std::max(workspace, conv_of(candidates[i]).max_workspace_bytes());
  }
  if (users.empty()) return;
  const auto refusal =
      attempt(stream, [&] { arena.allocate(stream.device(), workspace, request.end_to_end); });
  if (!refusal) return;
  for (size_t i : users) refuse(candidates[i], request.specs[i], session, *refusal);
}

}  // namespace

std::vector<ListedProblem> problems_from(const std::vector<std::string>& texts,
                                         const std::vector<std::string>& files,
                                         std::vector<std::string>* read) {
  std::vector<ListedProblem> problems;
  problems.reserve(texts.size());
  for (const std::string& text : texts) problems.push_back(listed_problem(text));
  for (const std::string& path : files) {
    const std::vector<ListedProblem> listed = read_problem_list(path, read);
    if (listed.empty()) throw DataError(concat("problem list '", printable(path), "' holds no problem"));
    problems.insert(problems.end(), listed.begin(), listed.end());
  }
  return problems;
}

void set_problem(ConvBenchRequest& request, const ListedProblem& listed) {
  request.problem = listed.problem;
  request.unsupported = listed.unsupported;
  request.problem_text = listed.text;
}

std::vector<ConvSpec> registry_specs(DeviceKind kind, const std::vector<std::string>& names, MathMode math,
                                     const std::vector<TensorLayout>& layouts) {
  std::vector<const ConvBackendEntry*> entries;
  entries.reserve(names.size());
  for (const std::string& name : names) entries.push_back(&find_conv_backend(kind, name));
  if (names.empty()) {
    for (const ConvBackendEntry& entry : conv_backend_entries(kind)) entries.push_back(&entry);
  }
  std::vector<ConvSpec> specs;
  for (TensorLayout layout : layouts) {
    for (const ConvBackendEntry* entry : entries) {
      specs.push_back({entry->name(),
                       [entry]() -> const ConvBackend& { return entry->open(); },
                       math,
                       layout,
                       !names.empty(),
                       {}});
    }
  }
  return specs;
}

void check_backends(const std::vector<std::string>& names, const BenchOptions& options) {
  if (names.empty()) return;
  const DeviceKind kind = choose_device(options.device).device.kind;
  for (const std::string& name : names) (void)find_conv_backend(kind, name);
}

ExpectedGroup expected_group(const Conv2dProblem& problem, const std::vector<ConvSpec>& specs) {
  std::set<TensorLayout> layouts;
  size_t runs = 0;
  for (const ConvSpec& spec : specs) {
    Conv2dProblem laid_out = problem;
    laid_out.layout = spec.layout;
    bool supported = false;
    (void)attempt([&] { supported = static_cast<bool>(spec.open().supports(laid_out, spec.math)); });
    if (!supported) continue;
    layouts.insert(spec.layout);
    ++runs;
  }
  return {std::vector<Work>(runs, Work{problem.flops(), problem.bytes()}),
          static_cast<double>(layouts.size()) * reference_products(problem)};
}

std::vector<ResultRow> bench_conv(const ConvBenchRequest& request, BenchSession& session) {
  DeviceGuard guard(session.device());
  Stream cpu(Device::cpu());
  Stream& stream = request.on_cpu ? cpu : session.stream();
  std::vector<StudyCandidate> candidates;
  std::map<TensorLayout, std::unique_ptr<ConvArena>> arenas;
  for (const ConvSpec& spec : request.specs) {
    StudyCandidate& candidate = candidates.emplace_back();
    candidate.base = base_row(request, spec, session);
    candidate.work = {request.problem.flops(), request.problem.bytes()};
    candidate.math = rate_of(request.problem.type, spec.math);
    prepare(candidate, spec, arenas[spec.layout], request, session, stream);
    session.pulse();
  }
  for (auto& [layout, arena] : arenas) {
    // Null if creating it failed or was interrupted: then no candidate of that layout is left.
    if (arena) allocate(*arena, candidates, request, session, stream);
  }

  MeasureOptions options = session.measure_options();
  options.end_to_end = request.end_to_end;
  const RowContext context = context_of(request, session);
  options.hot = context.hot;
  options.cold = context.cold;
  std::vector<Measurement> measurements = measure(prepared_of(candidates), stream, options);
  if (request.together) {
    std::vector<MeasuredConv> all;
    for (StudyCandidate& candidate : candidates) {
      if (candidate.prepared) all.push_back({conv_of(candidate), measurements[all.size()]});
    }
    request.together(all, stream);
  }
  std::vector<ResultRow> rows = rows_of(candidates, measurements, context);
  add_ratios_to_cudnn(rows);
  return rows;
}

void add_ratios_to_cudnn(std::vector<ResultRow>& rows) {
  for (ResultRow& row : rows) {
    double best = INFINITY;
    for (const ResultRow& other : rows) {
      if (other.backend == "cudnn" && other.dt == row.dt && other.math == row.math &&
          other.cache == row.cache && other.time.samples > 0) {
        best = std::min(best, other.time.median);
      }
    }
    if (std::isfinite(best) && row.time.samples > 0) row.ratio_to_cudnn = best / row.time.median;
  }
}

std::vector<ResultRow> bench_conv_into(const ConvBenchRequest& request, BenchSession& session) {
  std::vector<ResultRow> wanted;
  for (const ConvSpec& spec : request.specs) {
    for (ResultRow& row : rows_without_time(base_row(request, spec, session), row_status::kSkipped,
                                            "not measured yet", context_of(request, session))) {
      wanted.push_back(std::move(row));
    }
  }
  std::vector<ResultRow> rows = session.resumed(wanted);
  for (const ResultRow& row : rows) {  // a refusal counts again
    const bool by_name = std::any_of(request.specs.begin(), request.specs.end(), [&](const auto& spec) {
      return spec.by_name && spec.name == row.backend;
    });
    if (row.status == row_status::kUnsupported) {
      session.refuse(by_name ? row.backend : std::string(), ExitCode::kUnavailable,
                     with_backend(row.backend, row.reason));
    }
  }
  if (rows.empty()) rows = bench_conv(request, session);
  session.add(rows);
  return rows;
}

}  // namespace lenslet
