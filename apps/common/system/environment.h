// The environment of a measurement: program, host, devices and libraries.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "apps/common/fields/fields.h"
#include "apps/common/system/loaded_libraries.h"

namespace lenslet {

template <>
struct Fields<LoadedLibrary> {
  template <class Self, class V>
  static void of(Self& library, V&& v) {
    v("name", library.name)("version", library.version)("path", library.path);
  }
};

/// A GPU.
struct ResultDevice {
  std::string name;    // "NVIDIA H200"
  std::string device;  // "cuda:0"
  std::string compute_capability;
  int multiprocessors = 0;
  uint64_t memory_bytes = 0, l2_bytes = 0;
  int driver_version = 0, runtime_version = 0;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("name", self.name);
    v.later("device", self.device).later("compute_capability", self.compute_capability);
    v.later("multiprocessors", self.multiprocessors).later("memory_bytes", self.memory_bytes);
    v.later("l2_bytes", self.l2_bytes).later("driver_version", self.driver_version);
    v.later("runtime_version", self.runtime_version);
  }
};

/// The program that wrote a file, and the machine that it ran on.
struct ResultEnvironment {
  std::string tool;  // "convbench sweep"
  std::string version, git;
  bool dirty = false;  // built from a tree with uncommitted changes
  std::string build_type, compiler, cuda_compiler;
  std::vector<std::string> argv;
  std::string time_utc;
  std::string cpu, system, machine;
  int64_t cores_online = 0, threads_used = 0;
  uint64_t memory_bytes = 0;
  std::vector<ResultDevice> devices;  // in the runtime's order; empty if CUDA was not used
  std::vector<LoadedLibrary> libs;    // loaded when the file was written
  /// Options that change what a row measures, for --resume.
  std::vector<std::pair<std::string, std::string>> settings;

  /// The GPUs, or the CPU if there are none: "NVIDIA H200", "2 x NVIDIA H200". Short and printable, whatever the file
  /// contains.
  std::string device_name() const;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("tool", self.tool);
    v.group("meta", [&](auto& meta) {
      meta("version", self.version)("git", self.git)("dirty", self.dirty)("build_type", self.build_type);
      meta("compiler", self.compiler)("cuda_compiler", self.cuda_compiler);
      meta("argv", self.argv)("time_utc", self.time_utc);
    });
    v.group("host", [&](auto& host) {
      host("cpu", self.cpu)("cores_online", self.cores_online)("threads_used", self.threads_used);
      host("memory_bytes", self.memory_bytes)("system", self.system)("machine", self.machine);
    });
    v("devices", self.devices);
    v("libs", self.libs);
    v.later("settings", self.settings);
  }
};

/// Describes this process. Pass `with_gpus` only if CUDA was used: listing GPUs would initialise it.
ResultEnvironment this_environment(const std::string& tool, bool with_gpus,
                                   const std::vector<std::pair<std::string, std::string>>& settings = {});

/// Whether rows measured in `a` and `b` may be in one file: same tool, version, commit, build, devices, threads and
/// settings, and the same version of every library of `a`; `b` may have further libraries. Uncommitted changes are not
/// compared, because the file records `dirty`. If not, `reason` gets the difference.
bool same_environment(const ResultEnvironment& a, const ResultEnvironment& b, std::string* reason);

/// "cuda:0 (NVIDIA H200), taken because …", "cpu (AMD EPYC, 16 threads)". An empty `reason` is omitted.
std::string describe_device(Device device, const std::string& reason);

/// "0.2.0".
std::string program_version();
/// The date of the commit: "2026-01-31".
std::string program_date();
/// "lenslet 0.2.0 (0123456789ab, modified), Release, GNU 12.2.0, CUDA 13.0.88".
std::string version_line(const std::string& program);

/// Stores the command line for `meta`. Call it in main().
void remember_command_line(int argc, char** argv);

}  // namespace lenslet
