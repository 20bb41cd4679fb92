// lenslet inspect: what an ONNX file contains, and which of its nodes Lenslet has a layer for.
#include <algorithm>
#include <cmath>

#include "api/model_setup.h"
#include "apps/common/output/text.h"
#include "apps/common/program/run.h"
#include "apps/common/results/row_table.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/session/session.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/device/device.h"
#include "framework/execution/executable.h"
#include "models/onnx/lenet5_weights.h"
#include "models/onnx/model_file.h"
#include "models/onnx/network.h"
#include "models/onnx/summary.h"

namespace lenslet {

template <>
struct Fields<onnx::NodeSummary> {
  template <class Self, class V>
  static void of(Self& row, V&& v) {
    v("node", row.node)("operator", row.op)("output", row.output);
    v("parameters", row.parameters)("macs", row.macs)("layer", row.layer)("reason", row.reason);
  }
};

namespace {

constexpr const char* kSchema = "lenslet.inspect/1";

/// An input or output of the graph.
struct EndRow {
  std::string name, type, shape;
  template <class Self, class V>
  static void fields(Self& row, V&& v) {
    v("name", row.name)("type", row.type)("shape", row.shape);
  }
};

/// Which backends compute a layer on one kind of device, and why the others do not.
struct SupportedLayer {
  std::string layer, type, device;
  bool usable = true;                          // whether work can run on such a device here
  std::vector<std::string> backends, refused;  // "winograd: supports 3x3 and 5x5 filters, ..."
  template <class Self, class V>
  static void fields(Self& row, V&& v) {
    v("layer", row.layer)("type", row.type)("device", row.device);
    v("backends", row.backends)("refused", row.refused);
  }
};

// In the order of rank. Needs no device, because a backend decides by the problem.
std::vector<SupportedLayer> supported_layers(const Graph& graph) {
  const std::vector<Shape> shapes = graph.infer_shapes(1);
  std::vector<SupportedLayer> rows;
  for (const Target& target : targets_for(ModelSetup::kAuto)) {
    BuildOptions build;
    build.device = target.device;
    for (size_t i = 1; i < graph.nodes().size(); ++i) {
      const Graph::Node& node = graph.nodes()[i];
      SupportedLayer row{node.name,
                         std::string(node.layer->type()),
                         target.device.is_cuda() ? "cuda" : "cpu",
                         target.usable,
                         {},
                         {}};
      const OperatorRequest request = node_request(graph, i, shapes, build);
      for (const BackendEntry* entry : node.layer->backend_entries(target.device.kind)) {
        const Support support = node.layer->supports(*entry, request);
        if (support) {
          row.backends.push_back(entry->name());
        } else {
          row.refused.push_back(concat(entry->name(), ": ", support.reason()));
        }
      }
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

/// Bytes of a pass of one sample on the CPU, besides the weights.
struct PassMemory {
  size_t activations = 0, workspace = 0;
};

PassMemory memory_of(const Graph& graph) {
  const Plan plan = Executable::plan_of(graph, BuildOptions());
  return {plan.activation_bytes, plan.workspace_bytes};
}

std::vector<EndRow> ends_of(const std::vector<onnx::ValueInfo>& values) {
  std::vector<EndRow> rows;
  rows.reserve(values.size());
  for (const onnx::ValueInfo& value : values)
    rows.push_back({value.name, onnx::to_string(value.type), value.shape_text()});
  return rows;
}

// A name of the file, as a table or a sentence shows it.
std::string shown(const std::string& name) { return printable_excerpt(name, 60); }

constexpr size_t kIndent = 9;  // of the second line of an entry

void print_ends(Console& console, const char* what, const std::vector<EndRow>& ends) {
  for (const EndRow& end : ends) {
    console.line(concat(what, "  ", shown(end.name), ": ", end.type, " ", end.shape), kIndent);
    what = "       ";
  }
}

std::string macs_text(const std::optional<double>& macs) {
  return macs ? format_count(std::llround(*macs)) : "-";
}

Table table_of(const onnx::Summary& summary) {
  TableOf<onnx::NodeSummary> table;
  table.words("node", [](const auto& row) { return shown(row.node); });
  table.words("operator", [](const auto& row) { return shown(row.op); });
  table.words("output", [](const auto& row) { return row.output.empty() ? "?" : row.output; });
  table.number("parameters",
               [](const auto& row) { return row.parameters > 0 ? format_count(row.parameters) : ""; });
  table.number("MACs", [](const auto& row) { return row.macs && *row.macs == 0 ? "" : macs_text(row.macs); });
  table.words("layer", [](const auto& row) { return row.layer.empty() ? "-" : row.layer; });
  return table.of(summary.nodes);
}

/// Whether the other commands run the model.
struct Acceptance {
  bool runs = false;
  std::string difference;  // from LeNet-5; empty if it is LeNet-5
  std::string fault;       // of the graph or the metadata, besides those of nodes
};

Acceptance acceptance_of(const onnx::Model& model, const onnx::Values& values, const onnx::Import& import,
                         const std::string& path) {
  Acceptance acceptance;
  acceptance.difference = onnx::match_lenet5(model, values, printable_excerpt(path)).difference;
  acceptance.fault = import.fault;
  if (!acceptance.difference.empty() && !import.graph) return acceptance;
  try {
    (void)load_network(path);
    acceptance.runs = true;
  } catch (const DataError& error) {
    acceptance.fault = error.what();
  }
  return acceptance;
}

Table table_of(const std::vector<SupportedLayer>& layers) {
  TableOf<SupportedLayer> table;
  table.words("layer", &SupportedLayer::layer)
      .words("type", &SupportedLayer::type)
      .words("device", &SupportedLayer::device)
      .key();
  table.words("backends", [](const SupportedLayer& row) {
    return row.backends.empty() ? std::string("none") : comma_list(row.backends);
  });
  table.note("refused", [](const SupportedLayer& row) {
    std::string text;
    for (const std::string& refused : row.refused) text += concat(text.empty() ? "not " : "; not ", refused);
    return text;
  });
  return table.of(layers);
}

// Without `verbose` only the layers of usable devices, as `backends` lists them.
void print_layers(Console& console, std::vector<SupportedLayer> layers, bool verbose) {
  if (!verbose) {
    const auto unusable = [](const SupportedLayer& row) { return !row.usable; };
    const auto shown = std::remove_if(layers.begin(), layers.end(), unusable);
    if (shown != layers.end())
      console.line(concat("GPU: ", cuda_status().reason, "; --verbose lists its backends"));
    layers.erase(shown, layers.end());
  }
  console.print(table_of(layers));
}

// The acceptance with all the reasons against it.
void print_acceptance(Console& console, const onnx::Summary& summary, const Acceptance& acceptance) {
  if (acceptance.runs && acceptance.difference.empty())
    return console.line("Lenslet runs this model: it is LeNet-5 (lenslet classify --model).");
  if (acceptance.runs)
    return console.line(
        concat("Lenslet runs this model, layer by layer (lenslet profile --model). The "
               "whole-network backends are for LeNet-5, and this is another network: ",
               acceptance.difference));
  console.line("Lenslet does not run this model.");
  for (const onnx::NodeSummary& node : summary.nodes)
    if (!node.reason.empty()) console.line(concat("  ", shown(node.node), ": ", node.reason), 4);
  if (!acceptance.fault.empty()) console.line("  " + acceptance.fault, 4);
}

}  // namespace

ExitCode run_inspect(const InspectOptions& options) {
  const std::string& path = options.files.at(0);
  Run run("lenslet inspect", options, {}, {{"FILE", path}});
  run.on(Device::cpu());
  const std::string origin = printable_excerpt(path);
  const onnx::Model model = onnx::read_model(path);
  run.console().keep(files_named("a file of the model", model.external_files));
  const onnx::Values values = onnx::infer_values(model, origin);
  const onnx::Import import = onnx::import_model(model, values, onnx::network_name(path), origin);
  const onnx::Summary summary = onnx::summarise(model, values, import.node_results);
  const Acceptance acceptance = acceptance_of(model, values, import, path);
  const std::vector<EndRow> inputs = ends_of(model.inputs), outputs = ends_of(model.outputs);

  const std::string producer =
      shown(concat(model.producer, model.producer_version.empty() ? "" : " ", model.producer_version));
  Console& console = run.console();
  console.line(concat(origin, ": ONNX, operator set ", model.opset, ", IR version ", model.ir_version,
                      producer.empty() ? "" : ", by ", producer),
               kIndent);
  print_ends(console, "input  ", inputs);
  print_ends(console, "output ", outputs);
  console.line();
  console.print(table_of(summary));
  console.line();
  console.line(concat(format_count(summary.parameters), " parameters (",
                      format_bytes(static_cast<double>(summary.parameters) * sizeof(float)), " as fp32), ",
                      macs_text(summary.macs), " multiply-adds (MACs) per sample; ", summary.constant_nodes,
                      " nodes compute constants"));
  print_acceptance(console, summary, acceptance);
  if (const std::string note = onnx::note_of_output(model, values, origin); !note.empty())
    console.line("Note: " + note + ".");
  std::vector<SupportedLayer> layers;
  std::optional<PassMemory> memory;
  if (import.graph) {
    layers = supported_layers(*import.graph);
    console.line();
    print_layers(console, layers, options.verbose);
    console.line();
    const std::string what = "memory of a pass of one sample on the CPU, besides the weights: ";
    try {
      memory = memory_of(*import.graph);
      console.line(concat(what, format_bytes(static_cast<double>(memory->activations)), " of activations, ",
                          format_bytes(static_cast<double>(memory->workspace)), " of workspace"));
    } catch (const Error& error) {  // a layer has no backend here
      console.line(concat(what, error.what()));
    }
  }
  run.write(
      kSchema,
      [&](Document& document) {
        document.members()("file", path)("opset", model.opset)("ir_version", model.ir_version);
        document.members()("producer", model.producer)("producer_version", model.producer_version);
        document.members()("graph", model.graph_name)("parameters", summary.parameters);
        document.members()("macs", summary.macs)("constant_nodes", summary.constant_nodes);
        document.members()("activation_bytes", memory ? std::optional(memory->activations) : std::nullopt);
        document.members()("workspace_bytes", memory ? std::optional(memory->workspace) : std::nullopt);
        document.members()("runs", acceptance.runs)("difference", acceptance.difference);
        document.list("inputs", inputs);
        document.list("outputs", outputs);
        document.list("nodes", summary.nodes);
        document.list("layers", layers);
      },
      csv_of(summary.nodes));
  return run.end();
}

}  // namespace lenslet
