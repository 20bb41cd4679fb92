#include "apps/common/environment.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <vector>

#include "apps/common/build_info.h"
#include "apps/common/loaded_libraries.h"
#include "framework/device.h"
#include "framework/error.h"
#include "framework/parallel.h"

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

void write_meta(JsonWriter& json) {
  json.key("meta").begin_object();
  json.field("version", build_info::kVersion);
  json.field("git", build_info::kCommit);
  json.field("dirty", build_info::kDirty);
  json.field("build_type", build_info::kBuildType);
  json.field("compiler", build_info::kCompiler);
  json.field("cuda_compiler", build_info::kCudaCompiler);
  json.key("argv").begin_array(JsonWriter::Style::kInline);
  for (const std::string& argument : command_line()) json.value(argument);
  json.end_array();
  json.field("time_utc", utc_now());
  json.end_object();
}

void write_host(JsonWriter& json) {
  utsname system = {};
  ::uname(&system);
  json.key("host").begin_object();
  json.field("cpu", cpu_model());
  json.field("cores_online", static_cast<int64_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  json.field("threads_used", num_threads());
  json.field("memory_bytes", static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGESIZE));
  json.field("system", std::string(system.sysname) + " " + system.release);
  json.field("machine", std::string(system.machine));
  json.end_object();
}

void write_devices(JsonWriter& json, bool with_gpus) {
  json.key("devices").begin_array();
  if (with_gpus) {
    const CudaStatus& cuda = cuda_status();
    for (size_t i = 0; i < cuda.devices.size(); ++i) {
      const CudaDeviceInfo& gpu = cuda.devices[i];
      json.begin_object();
      json.field("device", Device::cuda(static_cast<int>(i)).to_string());
      json.field("name", gpu.name);
      json.field("compute_capability", concat(gpu.compute_capability / 10, ".", gpu.compute_capability % 10));
      json.field("multiprocessors", gpu.multiprocessors);
      json.field("memory_bytes", static_cast<uint64_t>(gpu.memory_bytes));
      json.field("l2_bytes", static_cast<uint64_t>(gpu.l2_bytes));
      json.field("driver_version", cuda.driver_version);
      json.field("runtime_version", cuda.runtime_version);
      json.end_object();
    }
  }
  json.end_array();
}

void write_libraries(JsonWriter& json) {
  json.key("libs").begin_array();
  for (const LoadedLibrary& library : loaded_libraries()) {
    json.begin_object(JsonWriter::Style::kInline);
    json.field("name", library.name);
    if (library.version.empty()) {
      json.null_field("version");
    } else {
      json.field("version", library.version);
    }
    json.field("path", library.path);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

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

void write_environment(JsonWriter& json, bool with_gpus) {
  write_meta(json);
  write_host(json);
  write_devices(json, with_gpus);
  write_libraries(json);
}

}  // namespace lenslet
