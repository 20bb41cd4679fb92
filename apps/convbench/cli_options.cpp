#include "apps/convbench/cli_options.h"

#include <algorithm>
#include <limits>

#include "apps/common/option_values.h"
#include "apps/common/text.h"
#include "layers/conv/conv_registry.h"

namespace lenslet {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMaxSize = 1 << 16;

std::vector<int> as_int(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

}  // namespace

void add_measuring(Command& command, BenchOptions& options) {
  command.option("--device", "auto|cpu|cuda[:N]", "auto takes a usable GPU, else the CPU [auto]",
                 [&options](const std::string& text) { options.device = text; });
  command.option("--threads", "N", "CPU threads [all cores, or LENSLET_NUM_THREADS]",
                 [&options](const std::string& text) {
                   options.threads = static_cast<int>(parse_integer("--threads", text, 1, kMaxThreads));
                 });
  command.option("--workspace-limit", "BYTES",
                 "most workspace a backend may take, such as 64M [no limit; for cudnn 512M]",
                 [&options](const std::string& text) {
                   options.workspace_limit = parse_bytes("--workspace-limit", text);
                 });
  command.choice("--cache", {"cold", "hot", "both"},
                 "flush the caches before each run, repeat it, or both [both]",
                 [&options](const std::string& text) {
                   options.measure.hot = text != "cold";
                   options.measure.cold = text != "hot";
                 });
  command.milliseconds("--warmup-ms", options.measure.warmup_ms,
                       concat("warm each rival up that long [", options.measure.warmup_ms, "]"));
  command.milliseconds(
      "--min-time-ms", options.measure.min_time_ms,
      concat("measure each rival and cache state that long [", options.measure.min_time_ms, "]"));
  command.option("--max-noise", "X", "measure up to four times as long until (p90 - p10) / median is below X",
                 [&options](const std::string& text) {
                   options.measure.max_noise = parse_number("--max-noise", text, 0, 10);
                 });
  command.choice("--verify", {"off", "before", "both"},
                 "check results before timing, or before and after [both]",
                 [&options](const std::string& text) {
                   options.measure.verify = text == "off"      ? Verify::kOff
                                            : text == "before" ? Verify::kBefore
                                                               : Verify::kBoth;
                 });
  command.choice("--dist", {"uniform", "normal", "ints"},
                 "random data: in [-1, 1), normal, or integers [uniform]",
                 [&options](const std::string& text) {
                   options.fill = text == "uniform"  ? reference::Fill::kRandom
                                  : text == "normal" ? reference::Fill::kNormal
                                                     : reference::Fill::kIntegers;
                 });
  command.integer("--seed", 0, std::numeric_limits<int32_t>::max(), options.seed, "seed of the data [1]");
  command.flag("--strict", options.strict,
               "exit with 1 where a row is SUSPECT: faster than the machine can be");
  command.flag("--capture", options.measure.capture,
               "bracket the measured part with cudaProfilerStart/Stop, for Nsight");
  command.text("--json", "FILE", options.json, "results as JSON, filed as they come; '-' is standard output");
  command.text("--csv", "FILE", options.csv, "results as CSV; '-' is standard output");
  command.text("--report", "FILE.html", options.report, "figures and tables as one page; needs --json FILE");
  command.flag("--resume", options.resume,
               "go on from what the --json file has (not filter, which is one group)");
}

std::vector<std::string> conv_backend_names(const std::vector<DeviceKind>& kinds) {
  std::vector<std::string> names;
  for (const DeviceKind kind : kinds) {
    for (const ConvBackendEntry& row : conv_backend_rows(kind)) {
      if (std::find(names.begin(), names.end(), row.name()) == names.end()) names.push_back(row.name());
    }
  }
  return names;
}

void add_backends(Command& command, std::vector<std::string>& backends) {
  command.option("--backend", "LIST|all", "names with commas between them [all]",
                 [&backends](const std::string& text) {
                   backends = text == "all" ? std::vector<std::string>() : split_list("--backend", text);
                 });
  command.suggest("--backend", [] {
    return Suggestions{conv_backend_names({DeviceKind::kCpu, DeviceKind::kCuda}), {}};
  });
}

void add_layouts(Command& command, std::vector<TensorLayout>& layouts) {
  const std::string usual = layouts.size() > 1                       ? "both"
                            : layouts.front() == TensorLayout::kNchw ? "nchw"
                                                                     : "nhwc";
  command.choice("--layout", {"nchw", "nhwc", "both"},
                 concat("order of input and output in memory [", usual, "]"),
                 [&layouts](const std::string& text) {
                   layouts.clear();
                   if (text != "nhwc") layouts.push_back(TensorLayout::kNchw);
                   if (text != "nchw") layouts.push_back(TensorLayout::kNhwc);
                 });
}

void add_integers(Command& command, const std::string& name, std::vector<int>& target, int min, int max,
                  const std::string& help) {
  command.option(name, "LIST", help, [&target, name, min, max](const std::string& text) {
    target = as_int(parse_integers(name, text, min, max));
  });
}

void add_sizes(Command& command, const std::string& name, std::vector<int>& target) {
  std::string listed;
  for (int size : target) listed += concat(listed.empty() ? "" : ",", size);
  command.option(
      name, "LIST", concat("sizes, also as 256:4096:x2 [", listed, "]"),
      [&target, name](const std::string& text) { target = as_int(parse_sizes(name, text, kMaxSize)); });
}

}  // namespace lenslet
