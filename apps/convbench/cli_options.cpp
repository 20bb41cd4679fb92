#include "apps/convbench/cli_options.h"

#include <limits>

#include "apps/common/option_values.h"
#include "apps/common/text.h"

namespace lenslet {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMaxSize = 1 << 16;

// Every list is kept short enough to be meant.
constexpr size_t kMaxValues = 1000;

std::vector<int> parse_integers(const std::string& option, const std::string& text, int min, int max) {
  std::vector<int> values;
  for (const std::string& part : split_list(option, text)) {
    values.push_back(static_cast<int>(parse_integer(option, part, min, max)));
    if (values.size() > kMaxValues) throw UsageError(concat(option, " takes up to ", kMaxValues, " values"));
  }
  return values;
}

}  // namespace

std::vector<int> parse_sizes(const std::string& option, const std::string& text) {
  const size_t first = text.find(':');
  if (first == std::string::npos) return parse_integers(option, text, 1, kMaxSize);
  const size_t second = text.find(':', first + 1);
  const std::string step = second == std::string::npos ? std::string() : text.substr(second + 1);
  if (step.size() < 2 || step[0] != 'x') {
    throw UsageError(concat(option,
                            " expects sizes such as 256,512 or FROM:TO:xFACTOR such as 256:4096:x2, found '",
                            printable(text), "'"));
  }
  const int64_t from = parse_integer(option, text.substr(0, first), 1, kMaxSize);
  const int64_t to = parse_integer(option, text.substr(first + 1, second - first - 1), from, kMaxSize);
  const int64_t factor = parse_integer(option, step.substr(1), 2, kMaxSize);
  std::vector<int> sizes;
  for (int64_t size = from; size <= to; size *= factor) sizes.push_back(static_cast<int>(size));
  return sizes;
}

void add_measuring(Command& command, BenchOptions& options) {
  command.option("--device", "auto|cpu|cuda[:N]", "auto takes a usable GPU, else the CPU [auto]",
                 [&options](const std::string& text) { options.device = text; });
  command.option("--threads", "N", "CPU threads [all cores, or LENSLET_NUM_THREADS]",
                 [&options](const std::string& text) {
                   options.threads = static_cast<int>(parse_integer("--threads", text, 1, kMaxThreads));
                 });
  command.option("--workspace-limit", "BYTES", "most workspace a backend may take, such as 64M [no limit]",
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

void add_backends(Command& command, std::vector<std::string>& backends) {
  command.option("--backend", "LIST|all", "names with commas between them [all]",
                 [&backends](const std::string& text) {
                   backends = text == "all" ? std::vector<std::string>() : split_list("--backend", text);
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
    target = parse_integers(name, text, min, max);
  });
}

void add_sizes(Command& command, const std::string& name, std::vector<int>& target) {
  std::string listed;
  for (int size : target) listed += concat(listed.empty() ? "" : ",", size);
  command.option(name, "LIST", concat("sizes, also as 256:4096:x2 [", listed, "]"),
                 [&target, name](const std::string& text) { target = parse_sizes(name, text); });
}

}  // namespace lenslet
