#include "apps/convbench/stencil/stencil_study.h"

#include <algorithm>

#include "apps/common/text.h"
#include "framework/error.h"

namespace lenslet {
namespace {

constexpr Boundary kBoundaries[] = {Boundary::kZero, Boundary::kClamp, Boundary::kReflect};

class StencilContender : public Contender {
 public:
  StencilContender(const StencilCell& cell, StencilTask& task, Stream& stream)
      : name_(concat(cell.filter, " ", to_string(cell.boundary))),
        boundary_(cell.boundary),
        task_(task),
        stream_(stream),
        kernel_(kernel_of(cell, task.stencil())) {}

  std::string name() const override { return name_; }
  void load(int round, Stream& stream) override {
    task_.load(round, stream);
    const std::vector<float>& filter = task_.filter();
    // Copied before each load: another stencil may have replaced the filter.
    if (kernel_.upload) kernel_.upload(filter.data(), static_cast<int>(filter.size()), stream);
    stream.synchronize();
  }
  void run(Stream& stream) override {
    stencil_enqueue(kernel_, task_.stencil(), task_.x(), task_.device_filter(), task_.y(), stream);
  }
  float* output() override { return task_.y(); }
  size_t output_count() const override { return static_cast<size_t>(task_.stencil().elements()); }
  Verdict judge(int round, const std::vector<float>& output) override {
    return task_.judge(round, boundary_, output, stream_);
  }

 private:
  std::string name_;
  Boundary boundary_;
  StencilTask& task_;
  Stream& stream_;
  StencilKernel kernel_;
};

void demand_known(const char* option, const std::string& name, const std::vector<std::string>& known) {
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  throw UsageError(concat(option, " accepts ", comma_list(known), ", found '", printable(name), "'"));
}

}  // namespace

const std::vector<std::string>& stencil_filters() {
  static const std::vector<std::string> names = {"global", "constant", "tiled", "vector"};
  return names;
}

const std::vector<std::string>& stencil_boundaries() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (Boundary boundary : kBoundaries) all.emplace_back(to_string(boundary));
    return all;
  }();
  return names;
}

std::vector<StencilCell> stencil_cells(const std::vector<std::string>& filters,
                                       const std::vector<std::string>& boundaries) {
  std::vector<StencilCell> cells;
  for (const std::string& filter : filters) {
    demand_known("--filter", filter, stencil_filters());
    for (const std::string& name : boundaries) {
      demand_known("--boundary", name, stencil_boundaries());
      for (Boundary boundary : kBoundaries) {
        if (name == to_string(boundary)) cells.push_back({filter, boundary});
      }
    }
  }
  if (cells.empty())
    throw UsageError("there is nothing to measure: give --filter and --boundary a name each");
  return cells;
}

StencilKernel kernel_of(const StencilCell& cell, const Stencil& stencil) {
  if (cell.filter == "global") return stencil_global_kernel(stencil, cell.boundary);
  if (cell.filter == "constant") return stencil_constant_kernel(stencil, cell.boundary);
  if (cell.filter == "tiled") return stencil_tiled_kernel(stencil, cell.boundary);
  return stencil_vector_kernel(stencil, cell.boundary);
}

Support stencil_support(const StencilCell& cell, const Stencil& stencil) {
  if (const Support support = stencil.supports(cell.boundary); !support) return support;
  const StencilKernel kernel = kernel_of(cell, stencil);
  return kernel.function ? Support::yes() : Support::no(kernel.refusal);
}

std::unique_ptr<Contender> stencil_contender(const StencilCell& cell, StencilTask& task, Stream& stream) {
  return std::make_unique<StencilContender>(cell, task, stream);
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

void bench_stencil_into(const Stencil& stencil, const std::vector<StencilCell>& cells,
                        BenchSession& session) {
  DeviceGuard guard(session.device());
  const int64_t seed = session.options().seed;
  StencilTask task(stencil, session.options().fill, static_cast<uint64_t>(seed));
  std::vector<StudyEntry> entries;
  for (const StencilCell& cell : cells) {
    StudyEntry entry;
    entry.base = stencil_row(cell, stencil, seed);
    entry.work = {stencil.flops(), stencil.bytes()};
    if (const Support support = stencil_support(cell, stencil); !support) {
      entry.status = "UNSUPPORTED";
      entry.reason = support.reason();
    } else {
      entry.base.launches = {stencil_launch_resources(kernel_of(cell, stencil))};
      entry.contender = stencil_contender(cell, task, session.stream());
    }
    entries.push_back(std::move(entry));
  }
  bench_study_into(
      entries, [&] { task.allocate(session.device()); }, session);
}

}  // namespace lenslet
