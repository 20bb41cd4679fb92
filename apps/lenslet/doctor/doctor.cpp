// lenslet doctor: lists what this machine and build offer, and checks that every backend computes correctly here.
#include <algorithm>
#include <set>

#include "apps/common/output/text.h"
#include "apps/common/results/attempt.h"
#include "apps/common/results/table.h"
#include "apps/common/system/environment.h"
#include "apps/common/system/loaded_libraries.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/doctor/self_test.h"
#include "apps/lenslet/session.h"
#include "apps/measuring/run.h"
#include "framework/base/parallel.h"
#include "framework/device/stream.h"
#include "layers/conv/conv_registry.h"
#include "layers/gemm/gemm_backend.h"

namespace lenslet {
namespace {

std::string cuda_version(int version) {
  return version == 0 ? std::string("none") : concat(version / 1000, ".", version % 1000 / 10);
}

void report_cuda(Console& console) {
  const CudaStatus& cuda = cuda_status();
  if (!cuda.built) {
    console.line("CUDA:      " + cuda.reason);
    return;
  }
  console.line(concat("CUDA:      runtime ", cuda_version(cuda.runtime_version), ", driver supports ",
                      cuda_version(cuda.driver_version), ", compiled for ", cuda.architectures));
  if (!cuda.usable) console.line("GPU:       none: " + cuda.reason);
  for (size_t i = 0; i < cuda.devices.size(); ++i) {
    const CudaDeviceInfo& gpu = cuda.devices[i];
    console.line(
        concat("GPU:       cuda:", i, " ", gpu.name, ", compute capability ", gpu.compute_capability / 10,
               ".", gpu.compute_capability % 10, ", ", gpu.multiprocessors, " multiprocessors, ",
               format_bytes(static_cast<double>(free_memory_bytes(Device::cuda(static_cast<int>(i))))),
               " of ", format_bytes(static_cast<double>(gpu.memory_bytes)), " free, L2 ",
               format_bytes(static_cast<double>(gpu.l2_bytes)),
               gpu.has_code ? "" : "; this build holds no code that runs on it"));
  }
}

// Opens the modules, so that versions and paths of their libraries can be printed.
void open_modules(Console& console, Device device) {
  for (const ConvBackendEntry& entry : conv_backend_rows(device.kind)) {
    if (entry.kind() == ConvBackendEntry::Kind::kBuiltIn) continue;
    if (const auto refusal = attempt([&] { entry.open(); })) {
      console.line(concat("           ", entry.name(), " on ", to_string(device.kind), ": ",
                          printable(refusal->reason)));
    }
  }
  const auto refusal = attempt([&] {
    DeviceGuard guard(device);
    Stream stream(device);
    const std::string library = gemm_provider(device.kind).prepare(MathMode::kFp32, stream)->describe();
    console.line(concat("gemm:      ", library, " on ", device.to_string()));
  });
  if (refusal)
    console.line(concat("gemm:      none on ", device.to_string(), ": ", printable(refusal->reason)));
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

void report_libraries(Console& console) {
  const std::vector<LoadedLibrary> libraries = loaded_libraries();
  std::set<std::string> cudnn_folders;
  for (const LoadedLibrary& library : libraries) {
    console.line(concat("library:   ", library.name, library.version.empty() ? "" : " " + library.version,
                        ", ", printable(library.path)));
    if (library.name.rfind("cuDNN", 0) == 0) cudnn_folders.insert(folder_of(library.path));
  }
  if (libraries.empty()) console.line("library:   no vendor library is in use");
  if (cudnn_folders.size() > 1) {
    console.line(
        "WARNING:   cuDNN's parts come from different folders; mixed versions crash: mend LD_LIBRARY_PATH");
  }
}

int64_t count_status(const std::vector<ResultRow>& rows, const std::string& status) {
  return std::count_if(rows.begin(), rows.end(), [&](const ResultRow& row) { return row.status == status; });
}

// One line per backend and math mode; failures are listed below.
std::string summary_table(const std::vector<ResultRow>& rows) {
  Table table;
  table.column("backend", Table::Align::kLeft)
      .column("math", Table::Align::kLeft)
      .column("PASSED")
      .column("FAILED");
  table.column("UNSUPPORTED").column("SKIPPED").column("ERROR").column("worst error", Table::Align::kRight);
  table.column("reason", Table::Align::kLeft);
  std::vector<std::pair<std::string, std::string>> groups;
  for (const ResultRow& row : rows) {
    const std::pair<std::string, std::string> group = {row.name, row.math};
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [name, math] : groups) {
    std::vector<ResultRow> some;
    for (const ResultRow& row : rows) {
      if (row.name == name && row.math == math) some.push_back(row);
    }
    double worst = 0;
    std::string reason;
    for (const ResultRow& row : some) {
      if (row.error) worst = std::max(worst, row.error->max_rel);
      const bool tells =
          row.status != "PASSED" && (reason.empty() || row.status == "FAILED" || row.status == "ERROR");
      if (tells) reason = row.reason;
    }
    const bool ran = count_status(some, "PASSED") + count_status(some, "FAILED") > 0;
    std::vector<std::string> cells = {name, math.empty() ? "-" : math};
    for (const char* status : {"PASSED", "FAILED", "UNSUPPORTED", "SKIPPED", "ERROR"}) {
      const int64_t count = count_status(some, status);
      cells.push_back(count == 0 ? "." : std::to_string(count));
    }
    cells.push_back(ran ? format_short(worst) : "-");
    cells.push_back(printable(reason));
    table.row(std::move(cells));
  }
  return table.to_string();
}

}  // namespace

ExitCode run_doctor(const DoctorOptions& options) {
  Run run("lenslet doctor", options, {}, files_read(options));
  Console& console = run.console();
  if (options.threads) set_num_threads(*options.threads);
  const std::vector<Target> targets = targets_for(options.device);
  console.line("program:   " + version_line("lenslet"));
  console.line(
      concat("CPU:       ", cpu_model(), ", ", num_threads(), num_threads() == 1 ? " thread, " : " threads, ",
             format_bytes(static_cast<double>(free_memory_bytes(Device::cpu()))), " of memory free"));
  if (options.device != "cpu") report_cuda(console);
  for (const Target& target : targets) {
    if (target.usable) open_modules(console, target.device);
  }
  report_libraries(console);

  for (const Target& target : targets) {
    run.on(target.usable ? target.device : Device::cpu());  // the last one is the GPU, if one is used
    run.add(self_test({target, options.seed, options.workspace_limit}));
  }
  console.line("\nself-test of every backend against the fp64 reference:");
  console.print(summary_table(run.rows()));
  run.guard([&] {
    std::string error;
    for (const ResultRow& row : run.rows()) {
      if (row.status != "FAILED" && row.status != "ERROR") continue;
      const std::string about = concat(row.name, ", ", row.problem, row.math.empty() ? "" : ", ", row.math,
                                       ": ", printable(row.reason));
      console.line(concat(row.status, ": ", about));
      if (row.status == "ERROR") error = about;
    }
    if (!error.empty()) throw DeviceError(error);
  });
  if (!run.stopped()) {
    const int64_t failed = count_status(run.rows(), "FAILED") + count_status(run.rows(), "ERROR");
    console.line(failed == 0 ? "every backend that can run here computes correctly"
                             : concat(failed, " of ", run.rows().size(), " self-tests failed"));
    if (options.device != "cpu" && !cuda_status().usable)
      console.line("no GPU was tested: " + cuda_status().reason);
  }
  return run.finish();
}

}  // namespace lenslet
