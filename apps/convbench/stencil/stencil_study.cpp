#include "apps/convbench/stencil/stencil_study.h"

#include "apps/common/command_line/option_values.h"
#include "framework/base/error.h"
#include "framework/measuring/row_status.h"

namespace lenslet {
namespace {

const Words<StencilKernel (*)(const Stencil&, Boundary)> kFilters = {{{"global", stencil_global_kernel},
                                                                      {"constant", stencil_constant_kernel},
                                                                      {"tiled", stencil_tiled_kernel},
                                                                      {"vector", stencil_vector_kernel}}};
const Words<Boundary> kBoundaries = {
    {{"zero", Boundary::kZero}, {"clamp", Boundary::kClamp}, {"reflect", Boundary::kReflect}}};

}  // namespace

std::vector<std::string> stencil_filters() { return kFilters.words(); }
std::vector<std::string> stencil_boundaries() { return kBoundaries.words(); }

std::vector<StencilCell> stencil_cells(const std::vector<std::string>& filters,
                                       const std::vector<std::string>& boundaries) {
  std::vector<StencilCell> cells;
  for (const std::string& filter : filters) {
    kFilters.parse("--filter", filter);
    for (const std::string& name : boundaries)
      cells.push_back({filter, kBoundaries.parse("--boundary", name)});
  }
  if (cells.empty())
    throw UsageError("there is nothing to measure: give --filter and --boundary a name each");
  return cells;
}

StencilKernel kernel_of(const StencilCell& cell, const Stencil& stencil) {
  return kFilters.parse("--filter", cell.filter)(stencil, cell.boundary);
}

Support stencil_support(const StencilCell& cell, const Stencil& stencil, Device device) {
  const Support support = stencil.supports(cell.boundary);
  return support ? study_support(kernel_of(cell, stencil), device) : support;
}

std::unique_ptr<Candidate> stencil_candidate(const StencilCell& cell, StencilTask& task, Stream& stream) {
  const StencilKernel kernel = kernel_of(cell, task.stencil());
  const auto upload = [kernel, &task](Stream& on) {
    // Before each load: another stencil may have replaced the filter.
    const std::vector<float>& filter = task.filter();
    if (kernel.upload) kernel.upload(filter.data(), static_cast<int>(filter.size()), on);
  };
  const auto run = [kernel, &task](Stream& on) {
    const Stencil& stencil = task.stencil();
    const StencilShape shape{stencil.height, stencil.width, stencil.taps, stencil.before()};
    study_enqueue(kernel, shape, task.x(), task.device_filter(), task.output(), on);
  };
  return std::make_unique<TaskCandidate>(concat(cell.filter, " ", to_string(cell.boundary)), task, stream,
                                         run, upload, static_cast<int>(cell.boundary));
}

ResultRow stencil_row(const StencilCell& cell, const Stencil& stencil, int64_t seed) {
  ResultRow row;
  row.name = stencil.to_string();
  row.backend = cell.filter;
  row.math = to_string(MathMode::kFp32);
  row.layout.clear();
  row.study = "e";
  row.labels = {{"table", "stencil"},
                {"dimensions", std::to_string(stencil.dimensions)},
                {"filter", cell.filter},
                {"boundary", to_string(cell.boundary)}};
  row.repro = concat("convbench stencil --dimensions ", stencil.dimensions, " --filter ", cell.filter,
                     " --boundary ", to_string(cell.boundary), " --seed ", seed);
  row.repro += stencil.dimensions == 1 ? concat(" --length ", stencil.width, " --taps ", stencil.taps)
                                       : concat(" --height ", stencil.height, " --width ", stencil.width,
                                                " --radius ", stencil.taps / 2);
  return row;
}

std::vector<ResultRow> bench_stencil_into(const Stencil& stencil, const std::vector<StencilCell>& cells,
                                          BenchSession& session) {
  DeviceGuard guard(session.device());
  const int64_t seed = session.options().seed;
  StencilTask task(stencil, session.options().fill, static_cast<uint64_t>(seed));
  std::vector<StudyCandidate> candidates;
  for (const StencilCell& cell : cells) {
    StudyCandidate& candidate = candidates.emplace_back();
    candidate.base = stencil_row(cell, stencil, seed);
    candidate.work = {stencil.flops(), stencil.bytes()};
    if (const Support support = stencil_support(cell, stencil, session.device()); !support) {
      candidate.refusal = {row_status::kUnsupported, ExitCode::kUnavailable, support.reason()};
    } else {
      candidate.base.launches = {study_launch_resources(kernel_of(cell, stencil))};
      candidate.prepared = stencil_candidate(cell, task, session.stream());
    }
  }
  return bench_study_into(
      std::move(candidates), [&] { task.allocate(session.device()); }, session);
}

}  // namespace lenslet
