// Rows of the option table that both programs share.
#pragma once

#include "apps/common/command_line/command_line.h"
#include "framework/base/parallel.h"

namespace lenslet {

/// --device, --threads and --workspace-limit; `what` owns the workspace: "layer". `devices` continues the help of
/// --device.
template <typename... Options>
void add_execution_options(CommandLine& line, const std::string& what, const Commands<Options...>& commands,
                           const std::string& devices = "") {
  line.option(
      "--device", Text{"auto|cpu|cuda[:N]"}, LENSLET_MEMBER(device),
      "auto selects a usable GPU, else the CPU; cuda:rank is one GPU for each process that mpirun started" +
          devices,
      commands);
  line.option("--threads", Integer{1, kMaxThreads}, LENSLET_MEMBER(threads),
              "CPU threads [LENSLET_NUM_THREADS, else all cores]", commands);
  line.option("--workspace-limit", ByteCount{}, LENSLET_MEMBER(workspace_limit),
              concat("most workspace of a ", what, ", such as 64M [no limit; for cudnn 512M]"), commands);
}

/// --wide and --legend, for commands that print a table.
template <typename... Options>
void add_table_options(CommandLine& line, const Commands<Options...>& commands) {
  line.flag("--wide", LENSLET_MEMBER(tables.wide),
            "tables with all columns, uncut [fitted to the terminal, to COLUMNS, or to 100 columns]",
            commands);
  line.flag("--legend", LENSLET_MEMBER(tables.legend), "explain the columns and words below each table",
            commands);
}

/// --max-image-pixels, for commands that read pictures.
template <typename... Options>
void add_picture_limits(CommandLine& line, const Commands<Options...>& commands) {
  line.option("--max-image-pixels", Integer{1, PictureLimits::kMaxPixels}, LENSLET_MEMBER(picture_limits),
              concat("read pictures of up to N pixels and take the memory that they need [",
                     PictureLimits::kDefaultPixels, " pixels and ", PictureLimits{}.max_decode_bytes >> 20,
                     " MiB to decode]"),
              commands);
}

}  // namespace lenslet
