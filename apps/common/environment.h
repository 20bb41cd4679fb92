// What a result was measured with: program, host, devices and libraries.
#pragma once

#include <string>

#include "apps/common/json_writer.h"

namespace lenslet {

/// "0.2.0".
std::string program_version();
/// Of the commit: "2026-01-31".
std::string program_date();
/// "lenslet 0.2.0 (0123456789ab, modified), Release, GNU 12.2.0, CUDA 13.0.88".
std::string version_line(const std::string& program);

/// Keeps the command line for `meta`. Call in main().
void remember_command_line(int argc, char** argv);

/// Writes the members `meta`, `host`, `devices` and `libs` into the open object. GPUs are listed only when
/// `with_gpus` says that CUDA was used: asking would start it.
void write_environment(JsonWriter& json, bool with_gpus);

}  // namespace lenslet
