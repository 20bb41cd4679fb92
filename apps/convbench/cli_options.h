// Groups of options that several subcommands take.
#pragma once

#include <string>
#include <vector>

#include "apps/common/command_line.h"
#include "apps/convbench/options.h"

namespace lenslet {

/// Device, measuring, verification, outputs: everything in BenchOptions.
void add_measuring(Command& command, BenchOptions& options);
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
