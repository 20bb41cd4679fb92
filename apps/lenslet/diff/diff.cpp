// lenslet diff: compares a model, layer by layer, with the values of another framework.
//
// Each layer reads their values of the layers before it, as far as they are known, so that a difference belongs to that
// layer. The allowed difference of an output y = f(x) is derived:
//   bound(ours) + bound(theirs) + what the differences of the inputs change: 0 where x are their values.
// bound(ours) is the backend's. bound(theirs) is kTheirFactor times the bound of a plain fp32 sum that has kFoldedTerms
// more terms than the layer: the other framework may add in another order, and may compute by itself what Lenslet
// folded into the layer, such as a normalisation.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "apps/common/output/text.h"
#include "apps/common/program/run.h"
#include "apps/common/results/row_table.h"
#include "apps/common/system/signals.h"
#include "apps/lenslet/candidates/layer_bound.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/diff/their_values.h"
#include "apps/lenslet/session/session.h"
#include "framework/base/counted.h"
#include "framework/base/error.h"
#include "framework/execution/executable.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/host_values.h"
#include "framework/tensor/roundoff.h"
#include "layers/reshape/reshape_layer.h"
#include "models/onnx/model_file.h"
#include "models/onnx/network.h"

namespace lenslet {
namespace {

constexpr const char* kSchema = "lenslet.diff/1";
// A comparison is about values, not speed: a larger batch takes more memory for every layer's output. Chosen by hand.
constexpr int64_t kDefaultBatch = 8;
// Roundings beyond those of the sum where a side folds a normalisation y = g (x - m) / sqrt(v + e) + b into weights and
// bias: the factor's sum, root and quotient, its product with a weight or with the bias's difference, that difference,
// and the sum with b; and where it does not, a difference, a product and a sum. That is at most 6, and Lenslet folds in
// fp64 and rounds weight and bias: 8. Twice that, for a bias that is the difference of larger terms.
constexpr int64_t kFoldedTerms = 16;
// The other side's algorithm and order are unknown, so its bound is this multiple of a plain sum's. Chosen by hand. The
// bound of Winograd can be a hundred times that of a sum (docs/kernels/winograd.md, "How large the rounding is"): with
// it, a network of a few layers would have no verdict at its end.
constexpr double kTheirFactor = 4;
constexpr const char* kWholePass = "whole pass";

// Unlike an empty cell of a table ("-"), a value may be infinite or NaN.
std::string value_text(double value) {
  if (std::isfinite(value)) return format_short(value);
  return std::isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf";
}

/// One comparison: a tensor, or the output of a pass as other commands run it.
struct DiffRow {
  std::string layer, value, type, backend;
  double difference = 0, allowed = NAN, ours = NAN, theirs = NAN;  // where difference / allowed is largest
  double share = -1;                                               // of the allowed difference
  double largest = 0;                                              // of their absolute values
  int64_t sample = 0, at = 0;                                      // where: the sample, the value in it
  int64_t count = 0, unbounded = 0;  // of the values: those without a finite bound
  std::string status = row_status::kPassed, reason;

  template <class Self, class V>
  static void fields(Self& row, V&& v) {
    v("layer", row.layer)("tensor", row.value)("type", row.type)("backend", row.backend);
    v("difference", row.difference)("allowed", row.allowed)("share", row.share)("largest", row.largest);
    v("sample", row.sample)("index", row.at)("ours", row.ours)("theirs", row.theirs);
    v("status", row.status)("reason", row.reason);
  }

  void add(int64_t of_sample, int64_t index, double our, double their, double allow) {
    ++count;
    largest = std::max(largest, std::fabs(their));
    const double apart = our == their ? 0 : std::fabs(our - their);
    if (apart != 0 && !std::isnan(apart) && !std::isfinite(allow)) {
      ++unbounded;
      return;
    }
    const double part = apart == 0 ? 0 : std::isnan(apart) ? INFINITY : apart / allow;
    if (part <= share) return;
    share = part;
    difference = apart;
    allowed = allow;
    ours = our;
    theirs = their;
    sample = of_sample;
    at = index;
  }
  void judge() {
    if (count == 0) {
      status = row_status::kSkipped;
      reason = "not compared: the run ended before";
    } else if (share > 1) {
      status = row_status::kFailed;
      reason = concat("value ", at, " of sample ", sample, " is ", value_text(ours), ", theirs ",
                      value_text(theirs), ": ", value_text(difference), " apart, ", value_text(share),
                      " times what is allowed");
    } else if (unbounded > 0) {
      status = row_status::kSkipped;
      reason =
          concat(unbounded, " of ", count, " values have no finite bound: give values of layers before it");
    } else if (share > 0 && !(allowed <= largest)) {
      status = row_status::kSkipped;
      reason = concat("the bound, ", format_short(allowed), ", exceeds the largest value, ",
                      format_short(largest), ": give values of layers before it");
    }
  }
};

void upload(const float* host, TensorView view, Stream& stream) {
  copy_bytes(view.data, view.device, host, Device::cpu(), view.bytes(), stream);
  stream.synchronise();
}

class Comparison {
 public:
  Comparison(const Graph& graph, const TheirValues& theirs, const BuildOptions& build, Model& whole)
      : graph_(graph),
        theirs_(theirs),
        executable_(graph, build),
        whole_(whole),
        nodes_(graph.nodes().size()) {
    for (const Executable::Step& step : executable_.steps()) {
      const auto found = theirs.by_node.find(step.name);
      if (found == theirs.by_node.end()) continue;
      for (const TheirTensor& tensor : found->second) {
        DiffRow& row = rows_.emplace_back();
        row.layer = step.name;
        row.value = tensor.name;
        row.type = step.type;
        row.backend = step.backend;
      }
    }
    output_ = graph.nodes().size() - 1;
    while (dynamic_cast<const ReshapeLayer*>(graph.nodes()[output_].layer.get()) &&
           graph.nodes()[output_].inputs[0] != 0)
      output_ = static_cast<size_t>(graph.nodes()[output_].inputs[0]);
    const auto last = theirs.by_node.find(graph.nodes()[output_].name);
    if (last == theirs.by_node.end()) return;
    DiffRow& row = rows_.emplace_back();
    row.layer = kWholePass;
    row.value = last->second[0].name;
    const Plan& plan = whole_.executable(executable_.batch()).plan();
    row.backend = plan.execution == Plan::kFused ? describe_backends(plan) : plan.execution;
  }

  std::vector<DiffRow>& rows() noexcept { return rows_; }

  /// Samples [first, first + batch).
  void compare(int64_t first) {
    const int64_t batch = executable_.batch(), values = graph_.input_shape().num_elements();
    Node& input = nodes_[0];
    input.x.assign(theirs_.input.begin() + first * values, theirs_.input.begin() + (first + batch) * values);
    input.error.assign(input.x.size(), 0);
    input.carried = input.error;
    upload(input.x.data(), executable_.input(), executable_.stream());
    size_t row = 0;
    for (size_t i = 0; i < executable_.steps().size(); ++i) row = compare_step(i, first, row);
    if (row == rows_.size()) return;
    const Node& last = nodes_.back();
    std::vector<float> outputs(last.x.size());
    whole_.run(input.x.data(), batch, outputs.data());
    add(rows_[row], first, outputs, theirs_.by_node.at(graph_.nodes()[output_].name)[0], last.carried);
  }

 private:
  /// Values of a node for the samples at hand: theirs if they are known, else ours.
  struct Node {
    std::vector<float> x, error;  // how far x may lie from theirs
    std::vector<float> carried;   // the same of a pass that never takes theirs
  };

  size_t compare_step(size_t i, int64_t first, size_t row) {
    const Executable::Step& step = executable_.steps()[i];
    executable_.run_step(i);
    Node& node = nodes_[step.node];
    node.x = host_values(step.output, executable_.stream());
    std::vector<LayerInput> inputs;
    std::vector<std::vector<float>> errors, carried;
    for (size_t k = 0; k < step.inputs.size(); ++k) {
      const Node& read = nodes_[static_cast<size_t>(graph_.nodes()[step.node].inputs[k])];
      inputs.push_back({step.inputs[k].shape, read.x.data()});
      errors.push_back(read.error);
      carried.push_back(read.carried);
    }
    int64_t terms = 0;
    const reference::Result judged = reference_layer(*step.layer, inputs, terms);
    const std::vector<double> ours = layer_bounds(*step.layer, *step.entry, step.math, inputs, judged, terms);
    const std::vector<double> theirs = sum_bounds(judged, terms > 0 ? terms + kFoldedTerms : 0);
    const auto total = [&](const std::vector<std::vector<float>>& of_inputs) {
      std::vector<double> sum = carried_errors(*step.layer, inputs, of_inputs, judged);
      for (size_t k = 0; k < sum.size(); ++k) sum[k] += ours[k] + kTheirFactor * theirs[k] + kFlushedToZero;
      return std::vector<float>(sum.begin(), sum.end());
    };
    node.error = total(errors);
    node.carried = errors == carried ? node.error : total(carried);
    const auto found = theirs_.by_node.find(step.name);
    if (found == theirs_.by_node.end()) return row;
    for (const TheirTensor& tensor : found->second) add(rows_[row++], first, node.x, tensor, node.error);
    // Later layers read their values.
    const std::vector<double>& values = found->second[0].values;
    const size_t from =
        static_cast<size_t>(first) * (node.x.size() / static_cast<size_t>(executable_.batch()));
    for (size_t k = 0; k < node.x.size(); ++k) {
      node.x[k] = static_cast<float>(values[from + k]);
      node.error[k] = static_cast<float>(std::fabs(double{node.x[k]} - values[from + k]));
    }
    upload(node.x.data(), step.output, executable_.stream());
    return row;
  }

  void add(DiffRow& row, int64_t first, const std::vector<float>& ours, const TheirTensor& theirs,
           const std::vector<float>& allowed) const {
    const size_t a_sample = ours.size() / static_cast<size_t>(executable_.batch());
    for (size_t k = 0; k < ours.size(); ++k) {
      const double their = theirs.values[static_cast<size_t>(first) * a_sample + k];
      row.add(first + static_cast<int64_t>(k / a_sample), static_cast<int64_t>(k % a_sample), double{ours[k]},
              their, double{allowed[k]});
    }
  }

  const Graph& graph_;
  const TheirValues& theirs_;
  Executable executable_;
  Model& whole_;
  std::vector<Node> nodes_;
  std::vector<DiffRow> rows_;  // in the order of the steps
  size_t output_ = 0;          // the node that computes the output; a copy after it changes the shape alone
};

Table table_of(const std::vector<DiffRow>& rows) {
  TableOf<DiffRow> table;
  table.words("layer", &DiffRow::layer).words("type", &DiffRow::type).words("backend", &DiffRow::backend);
  table.number(
      "difference", [](const DiffRow& row) { return row.difference; }, value_text);
  table.number(
      "allowed", [](const DiffRow& row) { return row.allowed; }, format_short);
  table.number(
      "of allowed", [](const DiffRow& row) { return row.share; }, format_share);
  table.words("status", &DiffRow::status);
  table.note("reason", [](const DiffRow& row) { return row.reason; });
  return table.of(rows);
}

ExitCode report(Run& run, const std::vector<DiffRow>& rows, const TheirValues& theirs) {
  Console& console = run.console();
  console.line();
  console.print(table_of(rows));
  if (!theirs.unknown.empty()) {
    console.line(concat(theirs.unknown.size(),
                        " tensors are not compared, because no layer computes them alone: ",
                        printable_excerpt(comma_list(theirs.unknown), 200)));
  }
  console.line();
  const auto is = [](const char* status) {
    return [status](const DiffRow& row) { return row.status == status; };
  };
  const auto wrong = std::find_if(rows.begin(), rows.end(), is(row_status::kFailed));
  if (wrong != rows.end()) {
    console.line(concat("the first beyond its bound: ", wrong->layer, " (",
                        printable_excerpt(wrong->value, 60), "): ", wrong->reason));
    return ExitCode::kCheckFailed;
  }
  const auto judged = std::count_if(rows.begin(), rows.end(), is(row_status::kPassed));
  if (judged == 0)
    throw DataError(
        "no tensor could be judged: every bound exceeds its values; give the values of more layers");
  console.line(concat(judged, " of ", rows.size(), " comparisons within their bounds, ",
                      counted(theirs.samples, "sample")));
  return ExitCode::kOk;
}

}  // namespace

ExitCode run_diff(const DiffOptions& given) {
  DiffOptions options = given;
  options.model = given.files.at(0);
  const bool runtime = given.against == DiffOptions::kOnnxRuntime;
  std::vector<NamedFile> read = {{"FILE", options.model}};
  if (!runtime) read.emplace_back("--against", given.against);
  Run run("lenslet diff", options, {}, read);
  const std::string origin = printable_excerpt(options.model);
  const onnx::Model model = onnx::read_model(
      options.model, [&](const onnx::Model& unread) { onnx::check_operators(unread, origin); });
  const onnx::Values values = onnx::infer_values(model, origin);
  const onnx::Import import = onnx::import_model(model, values, onnx::network_name(options.model), origin);
  if (!import.graph) throw DataError(concat(origin, ": ", onnx::faults_of(import, model)));
  const Session session(options, run.console());
  run.on(session.device());
  const TheirValues theirs =
      runtime ? values_of_onnxruntime(options.model, model, import, given.samples, options.seed)
              : values_of_file(given.against, model, import);
  const int64_t batch = std::min(theirs.samples, options.batch_size.value_or(kDefaultBatch));
  run.console().line(concat(session.network().title(), ", ", printable(options.model), ", ", theirs.samples,
                            " samples in batches of ", batch, ", on ", session.describe_device(),
                            ", against ", runtime ? "ONNX Runtime" : printable(given.against)));
  BuildOptions build = session.build_options(batch);
  build.execution = Plan::kLayered;
  build.fuse = false;
  build.keep_activations = true;
  Model whole = session.model(batch);
  const DeviceGuard guard(session.device());
  Comparison comparison(*import.graph, theirs, build, whole);
  run.guard([&] {
    for (int64_t first = 0; first < theirs.samples && !interrupted(); first += batch)
      comparison.compare(
          std::min(first, theirs.samples - batch));  // the last batch begins before, if it must
  });
  for (DiffRow& row : comparison.rows()) row.judge();
  const bool whole_run = run.fault().empty() && !run.stopped();
  if (!whole_run) run.console().print(table_of(comparison.rows()));
  const ExitCode code = whole_run ? report(run, comparison.rows(), theirs) : ExitCode::kOk;
  run.write(
      kSchema,
      [&](Document& document) {
        document.members()("file", options.model)("against", given.against)("samples", theirs.samples);
        document.members()("batch", batch)("math", session.math());
        document.list("comparisons", comparison.rows());
      },
      csv_of(comparison.rows()));
  return run.end(code);
}

}  // namespace lenslet
