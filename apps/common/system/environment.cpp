#include "apps/common/system/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <map>

#include "apps/common/system/build_info.h"
#include "framework/base/counted.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/base/text.h"
#include "framework/device/device.h"

namespace lenslet {
namespace {

std::vector<std::string>& command_line() {
  static std::vector<std::string> arguments;
  return arguments;
}

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  char text[32] = "";
  if (::gmtime_r(&now, &parts) != nullptr) std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

std::string describe_device(Device device, const std::string& reason) {
  const bool on_gpu = device.is_cuda();
  std::string text =
      concat(device.to_string(), " (",
             on_gpu ? cuda_status().devices.at(static_cast<size_t>(device.ordinal)).name : cpu_model());
  if (!on_gpu) text += concat(", ", counted(num_threads(), "thread"));
  return concat(text, ")", reason.empty() ? "" : ", ", reason);
}

std::string program_version() { return build_info::kVersion; }

std::string program_date() { return build_info::kDate; }

std::string version_line(const std::string& program) {
  std::string line = concat(program, " ", build_info::kVersion, " (", build_info::kCommit,
                            build_info::kDirty ? ", modified" : "", "), ", build_info::kBuildType, ", ",
                            build_info::kCompiler);
  const std::string cuda = build_info::kCudaCompiler;
  return line + (cuda.empty() ? ", without CUDA" : ", CUDA " + cuda);
}

void remember_command_line(int argc, char** argv) { command_line().assign(argv, argv + argc); }

ResultEnvironment this_environment(const std::string& tool, bool with_gpus,
                                   const std::vector<std::pair<std::string, std::string>>& settings) {
  ResultEnvironment now;
  now.tool = tool;
  now.version = build_info::kVersion;
  now.git = build_info::kCommit;
  now.dirty = build_info::kDirty;
  now.build_type = build_info::kBuildType;
  now.compiler = build_info::kCompiler;
  now.cuda_compiler = build_info::kCudaCompiler;
  now.argv = command_line();
  now.time_utc = utc_now();
  utsname system = {};
  ::uname(&system);
  now.cpu = cpu_model();
  now.system = concat(system.sysname, " ", system.release);
  now.machine = system.machine;
  now.cores_online = ::sysconf(_SC_NPROCESSORS_ONLN);
  now.threads_used = num_threads();
  now.memory_bytes =
      static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  if (with_gpus) {
    const CudaStatus& cuda = cuda_status();
    for (size_t i = 0; i < cuda.devices.size(); ++i) {
      const CudaDeviceInfo& gpu = cuda.devices[i];
      now.devices.push_back({gpu.name, Device::cuda(static_cast<int>(i)).to_string(),
                             capability_text(gpu.compute_capability), gpu.multiprocessors, gpu.memory_bytes,
                             gpu.l2_bytes, cuda.driver_version, cuda.runtime_version});
    }
  }
  now.libs = loaded_libraries();
  now.settings = settings;
  return now;
}

std::string ResultEnvironment::device_name() const {
  if (devices.empty()) return printable_excerpt(cpu);
  constexpr size_t kMaxNamed = 4;  // what a heading of one line has room for
  std::vector<std::pair<std::string, int>> counted;
  std::map<std::string, size_t> places;
  for (const ResultDevice& device : devices) {
    const std::string& name = device.name;
    const auto [place, added] = places.emplace(name, counted.size());
    if (added) counted.emplace_back(printable_excerpt(name), 0);
    ++counted[place->second].second;
  }
  std::string text;
  for (size_t i = 0; i < std::min(counted.size(), kMaxNamed); ++i) {
    const auto& [name, count] = counted[i];
    text += (text.empty() ? "" : " and ") + (count > 1 ? concat(count, " x ") : std::string()) + name;
  }
  return counted.size() > kMaxNamed ? concat(text, " and ", counted.size() - kMaxNamed, " other models")
                                    : text;
}

bool same_environment(const ResultEnvironment& a, const ResultEnvironment& b, std::string* reason) {
  const auto text = [](bool flag) { return std::string(flag ? "modified" : "unmodified"); };
  std::vector<std::vector<std::string>> pairs = {
      {"tool", a.tool, b.tool},
      {"version", a.version, b.version},
      {"commit", a.git, b.git},
      {"tree", text(a.dirty), text(b.dirty)},
      {"build type", a.build_type, b.build_type},
      {"compiler", a.compiler, b.compiler},
      {"CUDA compiler", a.cuda_compiler, b.cuda_compiler},
      {"device", a.device_name(), b.device_name()},
      {"threads", std::to_string(a.threads_used), std::to_string(b.threads_used)}};
  using Texts = std::map<std::string, std::string>;
  const auto text_in = [](const Texts& all, const std::string& name, const char* otherwise) {
    const auto found = all.find(name);
    return found == all.end() ? std::string(otherwise) : found->second;
  };
  const Texts settings[] = {{a.settings.begin(), a.settings.end()}, {b.settings.begin(), b.settings.end()}};
  for (const Texts& known : settings) {
    for (const auto& [name, value] : known)
      pairs.push_back(
          {name, text_in(settings[0], name, "not recorded"), text_in(settings[1], name, "not recorded")});
  }
  Texts loaded;  // for several of one name, the first
  for (const LoadedLibrary& library : b.libs) loaded.emplace(library.name, library.version);
  for (const LoadedLibrary& library : a.libs)
    pairs.push_back({library.name, library.version, text_in(loaded, library.name, "not loaded")});
  for (const auto& pair : pairs) {
    if (pair[1] == pair[2]) continue;
    if (reason != nullptr)
      *reason = concat(printable_excerpt(pair[0]), " differs: \"", printable_excerpt(pair[1]), "\" and \"",
                       printable_excerpt(pair[2]), "\"");
    return false;
  }
  return true;
}

}  // namespace lenslet
