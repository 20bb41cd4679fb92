// lenslet backends: which backend can serve which layer, and why not.
#include <algorithm>
#include <array>
#include <cstring>
#include <random>

#include "apps/common/environment.h"
#include "apps/common/json_writer.h"
#include "apps/common/output.h"
#include "apps/common/result_file.h"
#include "apps/common/signals.h"
#include "apps/common/table.h"
#include "apps/common/text.h"
#include "apps/lenslet/commands.h"
#include "framework/device.h"
#include "framework/graph.h"
#include "framework/parallel.h"
#include "layers/conv/conv_layer.h"
#include "layers/conv/conv_registry.h"
#include "models/lenet5.h"

namespace lenslet {
namespace {

constexpr const char* kSchema = "lenslet.backends/1";
constexpr std::array<MathMode, 3> kMathModes = {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16};
// Above this a plain CPU loop takes seconds a run, and repeating it would not tell more.
constexpr double kMostFlopsToRepeat = 2e10;

/// A layer for given input shapes.
struct Subject {
  std::string name;
  const Layer* layer = nullptr;
  std::vector<Shape> inputs;
  Shape output;
};

struct BackendRow {
  std::string subject, problem, type, backend;
  Device device;
  int rank = 0;
  bool uses_math = false;
  bool is_auto = false;           // the one that `auto` takes for the math mode asked for
  std::vector<Support> supports;  // by kMathModes
  std::string workspace = "-";    // bytes for people
  int64_t workspace_bytes = -1;   // -1: not known
  std::string repro, reason;
  bool fault = false;  // the device failed: `reason` says how
};

std::vector<float> random_values(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) value = static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f;
  return values;
}

Tensor random_tensor(const Shape& shape, unsigned seed) {
  Tensor tensor(shape);
  const std::vector<float> values = random_values(shape.num_elements(), seed);
  std::memcpy(tensor.data(), values.data(), shape.bytes());
  return tensor;
}

/// Prepares the operator twice and runs each twice on the same random input.
class Repeater {
 public:
  Repeater(const Subject& subject, const OperatorRequest& request)
      : subject_(subject), request_(request), stream_(request.device) {
    for (const Shape& shape : subject.inputs) {
      Tensor& input = inputs_.emplace_back(shape, request.device);
      const std::vector<float> values = random_values(shape.num_elements(), 7);
      copy_bytes(input.data(), request.device, values.data(), Device::cpu(), shape.bytes(), stream_);
    }
    output_ = Tensor(subject.output, request.device);
  }

  void fill(const std::string& backend, BackendRow& row) {
    const std::unique_ptr<Operator> first = subject_.layer->prepare(backend, request_, stream_);
    row.workspace_bytes = static_cast<int64_t>(first->workspace_bytes());
    row.workspace = format_bytes(static_cast<double>(row.workspace_bytes));
    if (subject_.layer->work(subject_.inputs).flops > kMostFlopsToRepeat) {
      row.repro = "not run";
      return;
    }
    const std::vector<float> a = result_of(*first), b = result_of(*first);
    const std::unique_ptr<Operator> second = subject_.layer->prepare(backend, request_, stream_);
    const std::vector<float> c = result_of(*second);
    row.repro = !same_bits(a, b) ? "no" : same_bits(a, c) ? "bitwise" : "per preparation";
  }

 private:
  std::vector<float> result_of(Operator& op) {
    Buffer workspace(request_.device, op.workspace_bytes());
    fill_bytes(output_.data(), request_.device, 0xff, subject_.output.bytes(), stream_);
    RunContext context{stream_, workspace.data(), nullptr};
    std::vector<ConstTensorView> views;
    for (Tensor& input : inputs_) views.push_back(input.view());
    op.run(views, output_.view(), context);
    std::vector<float> result(static_cast<size_t>(subject_.output.num_elements()));
    copy_bytes(result.data(), Device::cpu(), output_.data(), request_.device, subject_.output.bytes(),
               stream_);
    stream_.synchronize();
    return result;
  }
  static bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
  }

  const Subject& subject_;
  const OperatorRequest& request_;
  Stream stream_;
  std::vector<Tensor> inputs_;
  Tensor output_;
};

std::string problem_of(const Subject& subject) {
  const auto* conv = dynamic_cast<const Conv2dLayer*>(subject.layer);
  return conv == nullptr ? std::string() : conv->problem_for(subject.inputs.at(0)).to_string();
}

// Without the device the operator cannot be prepared; a convolution still has an upper bound to tell.
void bound_workspace(const Subject& subject, const OperatorRequest& request, BackendRow& row) {
  const auto* conv = dynamic_cast<const Conv2dLayer*>(subject.layer);
  if (conv == nullptr) return;
  const ConvBackendEntry& entry = find_conv_backend(request.device.kind, row.backend);
  row.workspace_bytes =
      static_cast<int64_t>(entry.open().workspace_bytes(conv->problem_for(subject.inputs[0]), request.math));
  row.workspace = "<= " + format_bytes(static_cast<double>(row.workspace_bytes));
}

std::vector<BackendRow> rows_for(const Subject& subject, Device device, bool usable,
                                 const BackendsOptions& options) {
  OperatorRequest request;
  request.device = device;
  request.inputs = subject.inputs;
  request.output = subject.output;
  request.math = subject.layer->uses_math() ? options.math.value_or(MathMode::kFp32) : MathMode::kFp32;
  request.workspace_limit = options.workspace_limit;
  const std::string preferred = subject.layer->preferred(request);
  std::vector<BackendRow> rows;
  for (const std::string& backend : subject.layer->backends(device.kind)) {
    BackendRow row;
    row.subject = subject.name;
    row.problem = problem_of(subject);
    row.type = subject.layer->type();
    row.backend = backend;
    row.device = device;
    row.rank = static_cast<int>(rows.size()) + 1;
    row.uses_math = subject.layer->uses_math();
    row.is_auto = backend == preferred;
    for (const MathMode math : kMathModes) {
      OperatorRequest asked = request;
      asked.math = math;
      row.supports.push_back(subject.layer->supports(backend, asked));
    }
    const Support support = subject.layer->supports(backend, request);
    row.reason = support.reason();
    if (support) {
      try {
        if (usable) {
          Repeater(subject, request).fill(backend, row);
        } else {
          bound_workspace(subject, request, row);
          row.repro = "not run";
        }
      } catch (const UnavailableError& error) {
        row.reason = error.what();
      } catch (const MemoryError& error) {
        row.reason = error.what();
      } catch (const DeviceError& error) {
        row.reason = error.what();
        row.fault = true;
      }
    }
    rows.push_back(std::move(row));
    if (rows.back().fault) break;  // after a CUDA fault every later call fails as well
    throw_if_interrupted();
  }
  return rows;
}

std::string math_modes(const BackendRow& row) {
  if (!row.uses_math) return row.supports[0] ? "any" : "-";
  std::string modes;
  for (size_t i = 0; i < kMathModes.size(); ++i) {
    if (row.supports[i]) modes += concat(modes.empty() ? "" : " ", to_string(kMathModes[i]));
  }
  return modes.empty() ? "-" : modes;
}

std::string table_of(const std::vector<BackendRow>& rows) {
  const auto left = Table::Align::kLeft;
  Table table;
  table.column("layer", left).column("rank").column("backend", left).column("can", left).column("auto", left);
  table.column("math modes", left).column("workspace").column("reproducible", left).column("reason", left);
  std::string last;
  for (const BackendRow& row : rows) {
    if (!last.empty() && last != row.subject) table.rule();
    const bool can = row.reason.empty();
    table.row({last == row.subject ? "" : row.subject, std::to_string(row.rank), row.backend,
               row.fault ? "ERROR"
               : can     ? "yes"
                         : "no",
               row.is_auto ? "<-" : "", math_modes(row), can ? row.workspace : "-", can ? row.repro : "-",
               printable(row.reason)});
    last = row.subject;
  }
  return table.to_string();
}

void write_json(const std::string& path, bool with_gpus, const std::vector<BackendRow>& rows,
                const std::string& fault) {
  if (path.empty()) return;
  ResultSink sink(path);
  JsonWriter json([&](const std::string& part) { sink.write(part); });
  json.begin_object().field("schema", kSchema);
  write_run_status(json, false, fault);
  write_environment(json, with_gpus);
  json.key("rows").begin_array();
  for (const BackendRow& row : rows) {
    json.begin_object().field("layer", row.subject).field("type", row.type);
    if (row.problem.empty()) {
      json.null_field("problem");
    } else {
      json.field("problem", row.problem);
    }
    json.field("device", row.device.to_string()).field("rank", row.rank).field("backend", row.backend);
    json.field("status", row.fault ? "ERROR" : row.reason.empty() ? "PASSED" : "UNSUPPORTED");
    json.field("can", row.reason.empty()).field("reason", row.reason).field("auto", row.is_auto);
    json.key("math").begin_object(JsonWriter::Style::kInline);
    for (size_t i = 0; i < kMathModes.size(); ++i)
      json.field(to_string(kMathModes[i]), static_cast<bool>(row.supports[i]));
    json.end_object();
    if (row.workspace_bytes >= 0) {
      json.field("workspace_bytes", row.workspace_bytes);
    } else {
      json.null_field("workspace_bytes");
    }
    json.field("repro", row.repro).end_object();
  }
  json.end_array().end_object().finish();
  sink.commit();
}

std::string csv_of(const std::vector<BackendRow>& rows) {
  std::string text = "device,layer,problem,rank,backend,can,auto,math_modes,workspace_bytes,repro,reason\n";
  for (const BackendRow& row : rows) {
    text += concat(row.device.to_string(), ",", csv_field(row.subject), ",", csv_field(row.problem), ",",
                   row.rank, ",", row.backend, ",", row.reason.empty() ? "1" : "0", ",",
                   row.is_auto ? "1" : "0", ",", math_modes(row), ",",
                   row.workspace_bytes >= 0 ? std::to_string(row.workspace_bytes) : std::string(), ",",
                   row.repro, ",", csv_field(row.reason), "\n");
  }
  return text;
}

/// A device to report on, and whether work can run on it.
struct Target {
  Device device;
  bool usable = true;
};

std::vector<Target> targets_for(const std::string& device, Console& console) {
  if (device != "auto") return {{choose_device(device).device, true}};
  std::vector<Target> targets = {{Device::cpu(), true}};
  const CudaStatus& cuda = cuda_status();
  if (!cuda.built) {
    console.line("GPU: " + cuda.reason);
  } else if (!cuda.usable) {
    console.line("GPU: " + cuda.reason + "; its backends are listed, nothing is run");
    targets.push_back({Device::cuda(), false});
  } else {
    targets.push_back({Device::cuda(), true});
  }
  return targets;
}

// Before anything is allocated: the numbers are the user's and may be huge.
void check_memory(const Conv2dProblem& problem, const std::vector<Target>& targets) {
  constexpr double kCopies = 3;  // random values, the operator's own, what it runs on
  for (const Target& target : targets) {
    const double needed = kCopies * problem.bytes();
    const auto free = static_cast<double>(free_memory_bytes(target.usable ? target.device : Device::cpu()));
    if (needed > free) {
      throw MemoryError(concat("--problem ", problem.to_string(), " needs about ", format_bytes(needed),
                               " on ", target.device.to_string(), ", ", format_bytes(free), " are free"));
    }
  }
}

}  // namespace

ExitCode run_backends(const BackendsOptions& options) {
  Console console({options.json, options.csv});
  if (options.threads) set_num_threads(*options.threads);
  std::vector<Conv2dProblem> problems;
  for (const std::string& text : options.problems) problems.push_back(Conv2dProblem::parse(text));
  if (!problems.empty() && options.batch_size)
    throw UsageError("--problem states its batch as mb; leave out --batch-size");
  const Graph graph =
      make_lenet5(options.weights.empty() ? builtin_lenet5_weights() : read_safetensors(options.weights),
                  options.weights.empty() ? "built-in weights" : options.weights);
  const std::vector<Target> targets = targets_for(options.device, console);

  std::vector<Subject> subjects;
  std::vector<std::unique_ptr<Layer>> own_layers;
  for (const Conv2dProblem& problem : problems) {
    check_memory(problem, targets);
    own_layers.push_back(std::make_unique<Conv2dLayer>(problem, random_tensor(problem.weight_shape(), 1),
                                                       random_tensor(Shape{problem.k}, 2)));
    subjects.push_back(
        {problem.to_string(), own_layers.back().get(), {problem.input_shape()}, problem.output_shape()});
  }
  if (problems.empty()) {
    const std::vector<Graph::Node>& nodes = graph.nodes();
    const std::vector<Shape> shapes = graph.infer_shapes(options.batch_size.value_or(1));
    for (size_t i = 0; i < nodes.size(); ++i) {
      if (!nodes[i].layer) continue;
      Subject subject{nodes[i].name, nodes[i].layer.get(), {}, shapes[i]};
      for (const int input : nodes[i].inputs) subject.inputs.push_back(shapes[static_cast<size_t>(input)]);
      subjects.push_back(std::move(subject));
    }
  }

  std::vector<BackendRow> all;
  bool with_gpus = false;
  std::string fault;
  for (const Target& target : targets) {
    with_gpus = with_gpus || (target.device.is_cuda() && target.usable);
    DeviceGuard guard(target.usable ? target.device : Device::cpu());
    std::vector<BackendRow> rows;
    for (const Subject& subject : subjects) {
      const std::vector<BackendRow> some = rows_for(subject, target.device, target.usable, options);
      rows.insert(rows.end(), some.begin(), some.end());
      if (rows.empty() || !rows.back().fault) continue;
      fault = concat(subject.name, " by ", rows.back().backend, ": ", rows.back().reason);
      break;
    }
    console.line(concat(all.empty() ? "" : "\n", "on ", target.device.to_string(), ", ",
                        to_string(options.math.value_or(MathMode::kFp32)), problems.empty() ? ", batch " : "",
                        problems.empty() ? std::to_string(options.batch_size.value_or(1)) : std::string(),
                        ":"));
    console.print(table_of(rows));
    all.insert(all.end(), rows.begin(), rows.end());
    if (!fault.empty()) break;
  }
  write_json(options.json, with_gpus, all, fault);
  if (!options.csv.empty()) write_result(options.csv, csv_of(all));
  if (!fault.empty()) throw DeviceError(fault);
  return ExitCode::kOk;
}

}  // namespace lenslet
