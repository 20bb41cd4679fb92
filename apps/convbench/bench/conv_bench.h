// Measures the backends of one convolution problem against each other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/convbench/bench/conv_candidate.h"
#include "apps/convbench/session/session.h"
#include "apps/measuring/measure.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/conv_problem_list.h"
#include "layers/conv/conv_registry.h"

namespace lenslet {

/// One way of computing the problem.
struct ConvSpec {
  std::string name;                          // in its rows: "winograd", "implicit_gemm.03_thread_tile"
  std::function<const ConvBackend&()> open;  // throws UnavailableError with the reason
  MathMode math = MathMode::kFp32;
  TensorLayout layout = TensorLayout::kNchw;
  bool by_name = false;  // named by the user: an error if it is unavailable
  std::vector<std::pair<std::string, std::string>> labels;  // added to the request's labels
};

/// A candidate that was measured.
struct MeasuredConv {
  ConvCandidate& candidate;
  Measurement& measured;
};

struct ConvBenchRequest {
  Conv2dProblem problem;
  std::string unsupported;   // why no candidate can be measured; empty: they can
  std::string problem_text;  // in its rows; empty: the problem's canonical string
  std::string name;          // in its rows; empty: the problem's name
  std::vector<ConvSpec> specs;
  std::string study;
  std::vector<std::pair<std::string, std::string>> labels;
  bool end_to_end = false;  // also time with copies from and to the host
  std::function<std::optional<PublishedFigure>(const ResultRow&)> published;  // may be empty
  bool on_cpu = false;  // ignores the session's device: the CPU's row beside a GPU's
  std::string repro;    // the command that repeats all of it; empty: one per row
  /// Creates data and judge for candidates of one layout; empty: random data by the options, and the fp64 reference.
  std::function<std::unique_ptr<ConvArena>(TensorLayout)> arena;
  /// Called after all are measured; may fail a candidate whose result contradicts the others. May be empty.
  std::function<void(const std::vector<MeasuredConv>&, Stream&)> together;
};

/// The problems of --problem and --problems, in order. Throws UsageError for an invalid string, DataError for a list
/// that is unreadable, malformed or empty. Adds the files of the lists to `read`, unless it is null.
std::vector<ListedProblem> problems_from(const std::vector<std::string>& texts,
                                         const std::vector<std::string>& files,
                                         std::vector<std::string>* read = nullptr);

/// Makes `listed` the problem of the request.
void set_problem(ConvBenchRequest& request, const ListedProblem& listed);

/// Candidates from the registry for that kind of device: the named ones or all, one per layout. Throws UsageError for
/// an unknown name.
std::vector<ConvSpec> registry_specs(DeviceKind kind, const std::vector<std::string>& names, MathMode math,
                                     const std::vector<TensorLayout>& layouts);

/// Throws UsageError if the device of the options has no backend of one of these names. Call it before the session
/// prints its first line.
void check_backends(const std::vector<std::string>& names, const BenchOptions& options);

/// What bench_conv() measures of a problem with those of these candidates that support it, each layout with its own
/// data. They may ask the current GPU.
ExpectedGroup expected_group(const Conv2dProblem& problem, const std::vector<ConvSpec>& specs);

/// Rows for every candidate and cache state, in order: measured in turns, or with the reason why not. Fills
/// ratio_to_cudnn from the fastest cuDNN row of the same math mode and cache state. A candidate that fails in
/// preparation gives an ERROR row. Throws DeviceError if the device is lost.
std::vector<ResultRow> bench_conv(const ConvBenchRequest& request, BenchSession& session);

/// bench_conv(), and adds the rows to the session. Takes them from the resumed file if it has all of them.
std::vector<ResultRow> bench_conv_into(const ConvBenchRequest& request, BenchSession& session);

/// Fills ratio_to_cudnn of the rows of one problem from the fastest cuDNN row, in either layout, of the same element
/// type, math mode and cache state.
void add_ratios_to_cudnn(std::vector<ResultRow>& rows);

}  // namespace lenslet
