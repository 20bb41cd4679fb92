// lenslet backends: which backends support which layers, and for the others the reason.
#include <memory>

#include "apps/common/output/progress.h"
#include "apps/common/output/text.h"
#include "apps/common/program/run.h"
#include "apps/common/results/row_table.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/doctor/backend_rows.h"
#include "apps/lenslet/session/session.h"
#include "framework/base/parallel.h"
#include "framework/device/device.h"
#include "framework/graph/graph.h"
#include "framework/measuring/row_status.h"
#include "layers/conv/conv_layer.h"
#include "layers/reference/fill.h"

namespace lenslet {
namespace {

constexpr const char* kSchema = "lenslet.backends/2";

Tensor random_tensor(const Shape& shape, uint64_t seed) {
  return Tensor(shape, reference::uniform_values(static_cast<size_t>(shape.num_elements()), seed));
}

bool supported(const BackendRow& row) { return row.status == row_status::kPassed; }

std::string math_modes(const BackendRow& row) {
  if (row.supports.empty()) return "-";
  if (!row.uses_math) return row.supports[0] ? "any" : "-";
  std::string modes;
  for (size_t i = 0; i < std::size(kMathModes); ++i) {
    if (row.supports[i]) modes += concat(modes.empty() ? "" : " ", to_string(kMathModes[i]));
  }
  return modes.empty() ? "-" : modes;
}

}  // namespace

template <>
struct Fields<BackendRow> {
  template <class Self, class V>
  static void of(Self& row, V&& v) {
    std::vector<std::pair<std::string, bool>> math;
    for (size_t i = 0; i < row.supports.size(); ++i)
      math.emplace_back(to_string(kMathModes[i]), static_cast<bool>(row.supports[i]));
    v("device", row.device)("layer", row.layer)("type", row.type)("problem", row.problem);
    v("rank", row.rank)("backend", row.backend);
    v("status", row.status)("supported", supported(row))("auto", row.is_auto);
    v("math", math)("reads", row.reads)("writes", row.writes)
        .column("math_modes", math_modes(row) + (row.reads.empty() || math_modes(row) == "-"
                                                     ? ""
                                                     : concat("; reads ", joined(row.reads, " "), "; writes ",
                                                              joined(row.writes, " "))));
    v("workspace_bytes", row.workspace_bytes >= 0 ? std::optional(row.workspace_bytes) : std::nullopt);
    v("determinism", row.determinism == "-" ? std::string() : row.determinism);
    v("observed", row.observed)("reason", row.reason);
  }
};

namespace {

Table table_of(const std::vector<BackendRow>& rows) {
  const auto layer_once = [last = std::string()](const BackendRow& row) mutable {
    return std::exchange(last, row.layer) == row.layer ? "" : row.layer;
  };
  TableOf<BackendRow> table;
  // The layer's name once, above its rows.
  table.words("layer", layer_once).number("rank", [](const BackendRow& row) {
    return std::to_string(row.rank);
  });
  table.words("backend", &BackendRow::backend).key();
  table.words("supported", [](const BackendRow& row) {
    return row.status == row_status::kError ? row.status : supported(row) ? "yes" : "no";
  });
  table.words("auto", [](const BackendRow& row) { return row.is_auto ? "<-" : ""; });
  table.words("math modes", math_modes);
  table.number("workspace", [](const BackendRow& row) { return supported(row) ? row.workspace : "-"; });
  table.words("determinism", &BackendRow::determinism);
  table.words("observed", [](const BackendRow& row) { return supported(row) ? row.observed : "-"; });
  table.words("reads", [](const BackendRow& row) { return joined(row.reads, " "); }).if_it_fits();
  table.words("writes", [](const BackendRow& row) { return joined(row.writes, " "); }).if_it_fits();
  table.note("reason", [](const BackendRow& row) { return row.reason; });
  return table.of(rows, &BackendRow::layer);
}

// Checked before anything is allocated: the numbers come from the user and may be huge.
void check_problem_memory(const Conv2dProblem& problem, const std::vector<Target>& targets) {
  constexpr double kCopies = 3;  // random values, the operator's own, what it runs on
  for (const Target& target : targets) {
    double needed = 0;
    for (const Shape& tensor : {problem.input_shape(), problem.weight_shape(), problem.output_shape()})
      needed += kCopies * static_cast<double>(problem.bytes_of_tensor(tensor));
    const auto free = static_cast<double>(free_memory_bytes(target.usable ? target.device : Device::cpu()));
    if (needed > free) {
      throw MemoryError(concat("--problem ", problem.to_string(), " needs about ", format_bytes(needed),
                               " on ", target.device.to_string(), ", ", format_bytes(free), " are free"));
    }
  }
}

}  // namespace

ExitCode run_backends(const BackendsOptions& options) {
  Run run("lenslet backends", options, {}, files_read(options));
  if (options.threads) set_num_threads(*options.threads);
  std::vector<Conv2dProblem> problems;
  for (const std::string& text : options.problems) problems.push_back(Conv2dProblem::parse(text));
  const std::shared_ptr<const Network> network = load_network(options.weights_file());
  run.console().keep(external_files_of(*network));
  const Graph& graph = network->graph;
  const std::vector<Target> targets = targets_for(options.device);
  if (options.device == ModelSetup::kAuto && !cuda_status().usable) {
    run.console().line(concat("GPU: ", cuda_status().reason,
                              !cuda_status().built ? ""
                              : options.verbose    ? "; its backends are listed, nothing is run"
                                                   : "; --verbose lists its backends"));
  }

  std::vector<ShapedLayer> layers;
  std::vector<std::unique_ptr<Layer>> own_layers;
  for (const Conv2dProblem& problem : problems) {
    check_problem_memory(problem, targets);
    own_layers.push_back(std::make_unique<Conv2dLayer>(problem, random_tensor(problem.weight_shape(), 1),
                                                       random_tensor(Shape{problem.k}, 2)));
    layers.push_back({problem.to_string(), own_layers.back().get(), {problem.input_shape()}});
  }
  if (problems.empty()) {
    const std::vector<Graph::Node>& nodes = graph.nodes();
    const std::vector<Shape> shapes = graph.infer_shapes(options.batch_size.value_or(1));
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].layer)
        layers.push_back({nodes[i].name, nodes[i].layer.get(), nodes[i].input_shapes(shapes)});
    }
    if (graph.network()) layers.push_back({"--plan fused", graph.network(), {shapes[0]}});
  }

  std::vector<BackendRow> all;
  for (const Target& target : targets) {
    const Device device = target.usable ? target.device : Device::cpu();
    DeviceGuard guard(device);
    run.on(device);  // the GPU comes last, if one is used
    ProgressBar bar("layers", static_cast<int64_t>(layers.size()));
    int64_t done = 0;
    const BackendQuery query{target.device, target.usable, options.math.value_or(MathMode::kFp32),
                             options.workspace_limit, [&] { bar.pulse(); }};
    std::vector<BackendRow> rows;
    const auto add = [&](std::vector<BackendRow> some) {
      rows.insert(rows.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
      if (rows.empty() || rows.back().status != row_status::kError) return;
      throw DeviceError(concat(rows.back().layer, " by ", rows.back().backend, ": ", rows.back().reason));
    };
    run.guard([&] {
      for (const ShapedLayer& shaped : layers) {
        add(layer_rows(shaped, query));
        bar.update(++done);
      }
    });
    bar.clear();
    const bool shown = (target.usable || options.verbose) && !(rows.empty() && run.stopped());
    if (shown) {
      run.console().line(
          concat(all.empty() ? "" : "\n", "on ", target.device.to_string(), ", ",
                 to_string(options.math.value_or(MathMode::kFp32)), problems.empty() ? ", batch " : "",
                 problems.empty() ? std::to_string(options.batch_size.value_or(1)) : std::string(), ":"));
      run.console().print(table_of(rows));
    }
    all.insert(all.end(), rows.begin(), rows.end());
    if (!run.fault().empty() || run.stopped()) break;
  }
  run.write(
      kSchema, [&](Document& document) { document.list("rows", all); }, csv_of(all));
  return run.end();
}

}  // namespace lenslet
