// Groups of options that several subcommands take.
#pragma once

#include <string>
#include <vector>

#include "apps/common/command_line.h"
#include "apps/convbench/options.h"
#include "framework/device.h"

namespace lenslet {

/// Device, measuring, verification, outputs: everything in BenchOptions.
void add_measuring(Command& command, BenchOptions& options);
/// Names of the convolution backends for those kinds of device, each once, in rank order.
std::vector<std::string> conv_backend_names(const std::vector<DeviceKind>& kinds);
/// --backend LIST|all.
void add_backends(Command& command, std::vector<std::string>& backends);
/// --layout nchw|nhwc|both.
void add_layouts(Command& command, std::vector<TensorLayout>& layouts);
/// A list such as 1,2,3.
void add_integers(Command& command, const std::string& name, std::vector<int>& target, int min, int max,
                  const std::string& help);
/// A list of sizes, or FROM:TO:xFACTOR: 256:4096:x2.
void add_sizes(Command& command, const std::string& name, std::vector<int>& target);

}  // namespace lenslet
