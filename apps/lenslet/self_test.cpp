#include "apps/lenslet/self_test.h"

#include <array>
#include <iterator>

#include "apps/common/signals.h"
#include "apps/lenslet/self_test_fused.h"
#include "apps/lenslet/self_test_layers.h"
#include "framework/error.h"
#include "framework/stream.h"
#include "layers/conv/conv_registry.h"
#include "layers/reference/conv_verify.h"

namespace lenslet {
namespace {

constexpr std::array<MathMode, 3> kMathModes = {MathMode::kFp32, MathMode::kTf32, MathMode::kFp16};

// LeNet's two convolutions, and shapes that catch what those do not: odd sizes, stride and padding that differ in h and w,
// dilation, groups, a single pixel.
constexpr const char* kProblems[] = {
    "mb3ic1ih28oc6kh5n\"conv1\"",      "mb3ic6ih12oc16kh5n\"conv2\"",
    "mb1ic3ih17iw13oc5kh3ph1n\"odd\"", "mb2ic4ih11iw19oc7kh3kw5sh2sw1ph1pw2n\"uneven\"",
    "mb1ic8ih15oc8kh3dh1n\"dilated\"", "g4mb2ic8ih9oc12kh3ph1n\"grouped\"",
    "mb5ic2ih1oc3kh1n\"pixel\"",
};

ResultRow row_for(const ConvBackendEntry& entry, Device device) {
  ResultRow row;
  row.name = concat(device.to_string(), " conv2d ", entry.name());
  row.backend = entry.name();
  return row;
}

ResultRow verify_case(const ConvBackendEntry& entry, const ConvVerifier& verifier,
                      const Conv2dProblem& problem, MathMode math, Stream& stream) {
  ResultRow row = row_for(entry, stream.device());
  row.problem = problem.to_string();
  row.math = to_string(math);
  const ConvBackend& backend = entry.open();
  if (const Support support = backend.supports(problem, math); !support) {
    row.status = "UNSUPPORTED";
    row.reason = support.reason();
    return row;
  }
  run_row(row, [&] {
    const ConvVerifyResult result = verifier.verify(backend, math, stream);
    row.status = result.passed ? "PASSED" : "FAILED";
    row.reason = result.reason;
    row.detail = result.detail;
    row.error = ResultError{result.max_abs, result.max_rel, result.bound, result.checked};
    if (result.passed) row.repro = "bitwise";  // the verifier runs everything twice and compares the bits
  });
  return row;
}

bool pools(const ConvBackend& backend, const Conv2dProblem& problem, MathMode math,
           const Pool2dWindow& window) {
  return backend.supports(problem, math) && backend.fuses_max_pool(problem, math, window);
}

std::vector<ResultRow> conv_self_test(const SelfTestOptions& options) {
  std::vector<ResultRow> rows;
  const std::vector<ConvBackendEntry>& entries = conv_backend_rows(options.device.kind);
  const auto skip = [&](const ConvBackendEntry& entry, const std::string& reason) {
    rows.push_back(row_for(entry, options.device));
    rows.back().status = "SKIPPED";
    rows.back().reason = reason;
  };
  if (!options.usable) {
    for (const ConvBackendEntry& entry : entries) skip(entry, options.why_not);
    return rows;
  }
  std::vector<const ConvBackendEntry*> present;
  for (const ConvBackendEntry& entry : entries) {
    try {
      entry.open();
      present.push_back(&entry);
    } catch (const UnavailableError& error) {
      skip(entry, error.what());
    }
  }
  DeviceGuard guard(options.device);
  Stream stream(options.device);
  for (const char* text : kProblems) {
    const Conv2dProblem problem = Conv2dProblem::parse(text);
    for (const bool pooled : {false, true}) {
      ConvVerifyOptions verify_options;
      verify_options.seed = options.seed;
      verify_options.workspace_limit = options.workspace_limit;
      if (pooled) verify_options.max_pool = Pool2dWindow::square(2, 2);
      if (pooled && (problem.p() < 2 || problem.q() < 2)) continue;
      const ConvVerifier verifier(problem, verify_options);
      for (const ConvBackendEntry* entry : present) {
        for (const MathMode math : kMathModes) {
          if (interrupted()) return rows;
          if (pooled && !pools(entry->open(), problem, math, *verify_options.max_pool)) continue;
          rows.push_back(verify_case(*entry, verifier, problem, math, stream));
          if (pooled) rows.back().name += ", max pool 2x2 fused";
          // After a CUDA fault every later call fails as well: more rows would only repeat it.
          if (rows.back().status == "ERROR") return rows;
        }
      }
    }
  }
  return rows;
}

}  // namespace

std::vector<ResultRow> self_test(const SelfTestOptions& options) {
  std::vector<ResultRow> rows;
  for (const auto& test : {conv_self_test, layer_self_test, fused_self_test}) {
    std::vector<ResultRow> more = test(options);
    rows.insert(rows.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    if (interrupted() || (!rows.empty() && rows.back().status == "ERROR")) break;
  }
  return rows;
}

}  // namespace lenslet
