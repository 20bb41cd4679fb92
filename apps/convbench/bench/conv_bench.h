// Measures the backends of one convolution problem against each other.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/convbench/bench/conv_contender.h"
#include "apps/convbench/session.h"
#include "apps/measuring/measure.h"
#include "layers/conv/conv_backend.h"
#include "layers/conv/conv_registry.h"

namespace lenslet {

/// One way of computing the problem.
struct ConvCandidate {
  std::string name;                          // of its rows: "winograd", "implicit_gemm.03_thread_tile"
  std::function<const ConvBackend&()> open;  // throws UnavailableError with the reason
  MathMode math = MathMode::kFp32;
  TensorLayout layout = TensorLayout::kNchw;
  bool by_name = false;  // asked for by its name: that it cannot serve is then an error
  std::vector<std::pair<std::string, std::string>> labels;  // added to those of the request
};

/// A candidate that was measured.
struct ConvRival {
  ConvContender& contender;
  Measurement& measured;
};

struct ConvBenchRequest {
  Conv2dProblem problem;
  std::string name;  // of its rows; empty: the problem's
  std::vector<ConvCandidate> candidates;
  std::string study;
  std::vector<std::pair<std::string, std::string>> labels;
  bool end_to_end = false;  // also with copies from and to the host
  std::function<std::optional<PublishedFigure>(const ResultRow&)> published;  // may be empty
  bool on_cpu = false;  // whatever the session's device: the CPU's row beside a GPU's
  std::string repro;    // the command that measures all of it again; empty: one for each row
  /// Data and judge for candidates of one layout; none: random data as the options ask, judged by the fp64 reference.
  std::function<std::unique_ptr<ConvArena>(TensorLayout)> arena;
  /// Called when all are measured: may fail one for what they show side by side. May be empty.
  std::function<void(const std::vector<ConvRival>&, Stream&)> together;
};

/// What --problem and --problems name, in order. Throws UsageError for a bad string, DataError for a list that cannot
/// be read or holds none.
std::vector<Conv2dProblem> problems_from(const std::vector<std::string>& texts,
                                         const std::vector<std::string>& files);

/// The registry's rows for that kind of device: those named, or all; one candidate a layout. Throws UsageError for a
/// name that is none.
std::vector<ConvCandidate> registry_candidates(DeviceKind kind, const std::vector<std::string>& names,
                                               MathMode math, const std::vector<TensorLayout>& layouts);

/// Rows for every candidate and cache state, in order: measured turn by turn, or with the reason why not. Fills
/// ratio_to_cudnn from the fastest cuDNN row of the same math mode and cache state. One that fails while it is prepared
/// is an ERROR row; throws DeviceError where the device is lost.
std::vector<ResultRow> bench_conv(const ConvBenchRequest& request, BenchSession& session);

/// The same, filed in the session; taken from the file that is resumed where that has all of it.
void bench_conv_into(const ConvBenchRequest& request, BenchSession& session);

/// Fills ratio_to_cudnn of rows of one problem: from the fastest cuDNN row, in either layout, of the same math mode and
/// cache state.
void add_ratios_to_cudnn(std::vector<ResultRow>& rows);

}  // namespace lenslet
