// lenslet doctor: lists what this machine and build offer, and checks that every backend computes correctly here.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "apps/common/output/text.h"
#include "apps/common/program/run.h"
#include "apps/common/results/attempt.h"
#include "apps/common/results/row_table.h"
#include "apps/common/system/environment.h"
#include "apps/common/system/loaded_libraries.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/doctor/model_test.h"
#include "apps/lenslet/doctor/self_test.h"
#include "apps/lenslet/session/session.h"
#include "framework/base/counted.h"
#include "framework/base/parallel.h"
#include "framework/base/text.h"
#include "framework/device/stream.h"
#include "framework/measuring/row_status.h"
#include "layers/conv/conv_registry.h"
#include "layers/gemm/gemm_backend.h"

namespace lenslet {
namespace {

constexpr size_t kLabel = 11;  // width of "program:   "

void report(Console& console, const std::string& label, const std::string& text) {
  console.line(label + std::string(kLabel - label.size(), ' ') + text, kLabel);
}

std::string cuda_version(int version) { return version == 0 ? "none" : cuda_version_text(version); }

void report_cuda(Console& console) {
  const CudaStatus& cuda = cuda_status();
  if (!cuda.built) {
    report(console, "CUDA:", cuda.reason);
    return;
  }
  report(console, "CUDA:",
         concat("runtime ", cuda_version(cuda.runtime_version), ", driver supports ",
                cuda_version(cuda.driver_version), ", compiled for ", cuda.architectures));
  if (!cuda.usable) report(console, "GPU:", "none: " + cuda.reason);
  for (size_t i = 0; i < cuda.devices.size(); ++i) {
    const CudaDeviceInfo& gpu = cuda.devices[i];
    report(console, "GPU:",
           concat("cuda:", i, " ", gpu.name, ", compute capability ", capability_text(gpu.compute_capability),
                  ", ", gpu.multiprocessors, " multiprocessors, ",
                  format_bytes(static_cast<double>(free_memory_bytes(Device::cuda(static_cast<int>(i))))),
                  " of ", format_bytes(static_cast<double>(gpu.memory_bytes)), " free, L2 ",
                  format_bytes(static_cast<double>(gpu.l2_bytes)),
                  gpu.has_code ? "" : "; this build holds no code that runs on it"));
  }
}

// Opens the modules, so that versions and paths of their libraries can be printed.
void open_modules(Console& console, Device device) {
  for (const ConvBackendEntry& entry : conv_backend_entries(device.kind)) {
    if (entry.kind() == ConvBackendEntry::Kind::kBuiltIn) continue;
    if (const auto refusal = attempt([&] { entry.open(); })) {
      report(console, "", concat(entry.name(), " on ", to_string(device.kind), ": ", refusal->reason));
    }
  }
  const auto refusal = attempt([&] {
    DeviceGuard guard(device);
    Stream stream(device);
    const std::string library = gemm_backend(device.kind).prepare(MathMode::kFp32, stream)->describe();
    report(console, "gemm:", concat(library, " on ", device.to_string()));
  });
  if (refusal) report(console, "gemm:", concat("none on ", device.to_string(), ": ", refusal->reason));
}

// Without `verbose` one line, without the paths.
void report_libraries(Console& console, bool verbose) {
  const std::vector<LoadedLibrary> libraries = loaded_libraries();
  std::set<std::string> cudnn_folders;
  std::vector<std::string> names;
  for (const LoadedLibrary& library : libraries) {
    names.push_back(library.name + (library.version.empty() ? "" : " " + library.version));
    if (verbose) report(console, "library:", concat(names.back(), ", ", library.path));
    if (library.name.rfind("cuDNN", 0) == 0) cudnn_folders.insert(folder_of(library.path));
  }
  if (libraries.empty()) names.emplace_back("no vendor library is in use");
  if (libraries.empty() || !verbose) report(console, "libraries:", comma_list(names));
  if (cudnn_folders.size() > 1) {
    report(console, "WARNING:",
           "cuDNN's parts come from different folders; mixed versions crash: fix LD_LIBRARY_PATH");
  }
}

// The statuses of self-tests, in the order of the columns. None is SUSPECT, because none is timed.
constexpr const char* kStatuses[] = {row_status::kPassed, row_status::kFailed, row_status::kUnsupported,
                                     row_status::kSkipped, row_status::kError};

int64_t count_status(const std::vector<ResultRow>& rows, const std::string& status) {
  return std::count_if(rows.begin(), rows.end(), [&](const ResultRow& row) { return row.status == status; });
}

/// The rows of one backend in one math mode.
struct Group {
  std::string name, math;
  std::vector<ResultRow> rows;

  int64_t count(const char* status) const { return count_status(rows, status); }
  /// The largest relative error of a run: its largest error divided by its largest reference value; NaN if nothing ran.
  double worst() const {
    double worst = NAN;
    if (count(row_status::kPassed) + count(row_status::kFailed) == 0) return worst;
    for (const ResultRow& row : rows) {
      if (row.error) worst = std::fmax(worst, row.error->max_rel);
    }
    return worst;
  }
  /// Why rows did not pass; a fault comes first.
  std::string reason() const {
    std::string reason;
    for (const ResultRow& row : rows) {
      const bool fault = row.status == row_status::kFailed || row.status == row_status::kError;
      if (row.status != row_status::kPassed && (reason.empty() || fault)) reason = row.reason;
    }
    return reason;
  }
};

std::vector<Group> groups_of(const std::vector<ResultRow>& rows) {
  std::vector<Group> groups;
  for (const ResultRow& row : rows) {
    const auto same = [&](const Group& group) { return group.name == row.name && group.math == row.math; };
    auto found = std::find_if(groups.begin(), groups.end(), same);
    if (found == groups.end()) found = groups.insert(groups.end(), Group{row.name, row.math, {}});
    found->rows.push_back(row);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const Group& a, const Group& b) { return a.name < b.name; });
  return groups;
}

// One line per backend and math mode.
Table summary_table(const std::vector<Group>& groups) {
  TableOf<Group> table;
  table.words("backend", &Group::name);
  table.words("math", [](const Group& group) { return group.math.empty() ? "-" : group.math; }).key();
  for (const char* status : kStatuses) {
    table.number(status, [status](const Group& group) {
      const int64_t count = group.count(status);
      return count == 0 ? std::string() : std::to_string(count);
    });
  }
  table.number("worst error", &Group::worst, format_short).note("reason", &Group::reason);
  return table.of(groups);
}

// "on cpu: 310 PASSED, 12 UNSUPPORTED in 27 backends and math modes".
std::string summary_line(const Target& target, const std::string& of, const std::vector<ResultRow>& rows) {
  std::string text;
  for (const char* status : kStatuses) {
    const int64_t count = count_status(rows, status);
    if (count > 0) text += concat(text.empty() ? "" : ", ", count, " ", status);
  }
  return concat("self-test", of, ": ", target.device.to_string(), ": ", text, ", in ", groups_of(rows).size(),
                " backends and math modes, against the fp64 reference");
}

}  // namespace

ExitCode run_doctor(const DoctorOptions& options) {
  Run run("lenslet doctor", options, {}, files_read(options));
  Console& console = run.console();
  if (options.threads) set_num_threads(*options.threads);
  const std::shared_ptr<const Network> network =
      options.model.empty() ? nullptr : load_network(options.model);
  if (network) console.keep(external_files_of(*network));
  const std::vector<Target> targets = targets_for(options.device);
  report(console, "program:", version_line("lenslet"));
  report(console, "CPU:",
         concat(cpu_model(), ", ", counted(num_threads(), "thread"), ", ",
                format_bytes(static_cast<double>(free_memory_bytes(Device::cpu()))), " of memory free"));
  if (options.device != "cpu") report_cuda(console);
  for (const Target& target : targets) {
    if (target.usable) open_modules(console, target.device);
  }
  report_libraries(console, options.verbose);

  std::vector<ResultRow> shown;  // without --verbose: of usable devices
  for (const Target& target : targets) {
    run.on(target.usable ? target.device : Device::cpu());  // the last one is the GPU, if one is used
    const SelfTestOptions test{target, options.seed, options.workspace_limit};
    const std::vector<ResultRow> rows = network ? model_test(network->graph, test) : self_test(test);
    run.add(rows);
    if (!target.usable && (!options.verbose || network)) continue;
    console.line(summary_line(target, network ? " of " + network->title() : "", rows), kLabel);
    shown.insert(shown.end(), rows.begin(), rows.end());
  }
  std::vector<Group> listed = groups_of(shown);
  const auto passed = [](const Group& group) {
    return group.count(row_status::kFailed) + group.count(row_status::kError) == 0;
  };
  if (!options.verbose) listed.erase(std::remove_if(listed.begin(), listed.end(), passed), listed.end());
  if (!listed.empty()) {
    console.line();
    console.print(summary_table(listed));
  }
  run.guard([&] {
    std::string error;
    for (const ResultRow& row : run.rows()) {
      if (row.status != row_status::kFailed && row.status != row_status::kError) continue;
      const std::string about = concat(row.name, ", ", row.problem, row.math.empty() ? "" : ", ", row.math,
                                       ": ", printable(row.reason));
      console.line(concat(row.status, ": ", about), 4);
      if (row.status == row_status::kError) error = about;
    }
    if (!error.empty()) throw DeviceError(error);
  });
  if (!run.stopped()) {
    const int64_t failed =
        count_status(run.rows(), row_status::kFailed) + count_status(run.rows(), row_status::kError);
    console.line(failed == 0 ? concat("every backend that can run here computes ",
                                      network ? network->title() + " " : "", "correctly")
                             : concat(failed, " of ", run.rows().size(), " self-tests failed"));
    if (options.device != "cpu" && !cuda_status().usable)
      console.line("no GPU was tested: " + cuda_status().reason);
    if (!options.verbose) console.line("--verbose lists every backend, and the libraries with their paths");
  }
  return run.finish();
}

}  // namespace lenslet
