#include "apps/convbench/filter/filter_bench.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>

#include "apps/common/results/attempt.h"
#include "apps/convbench/bench/published.h"
#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/poison.h"

namespace lenslet {
namespace {

constexpr MathMode kMath = MathMode::kFp32;  // tf32 and fp16 cannot represent the sums

/// Data and judge for pictures, from the task.
class FilterArena : public ConvArena {
 public:
  FilterArena(FilterTask& task, TensorLayout layout) : ConvArena(task.problem(layout)), task_(task) {}

  const std::vector<float>& weights() const override { return task_.weights(); }
  Verdict judge(int round, const std::vector<float>& output, const ConvAccuracy& accuracy,
                const ConvEpilogue& /*none*/) override {
    return task_.judge(round, problem().layout, output, accuracy);
  }

 protected:
  const std::vector<float>& input(int round) override {
    return input_ = task_.input(round, problem().layout);
  }

 private:
  FilterTask& task_;
  std::vector<float> input_;
};

/// The picture as the backend computes it; empty, with the reason in `wrong`, if an output is no number: as a byte it
/// would be black.
std::optional<Picture> picture_by(ConvCandidate& candidate, const FilterTask& task, Stream& stream,
                                  std::string& wrong) {
  std::vector<float> y(candidate.output_count());
  const size_t bytes = y.size() * sizeof(float);
  candidate.load(0, stream);
  fill_bytes(candidate.output(), stream.device(), kNanByte, bytes, stream);
  candidate.run(stream);
  copy_bytes(y.data(), Device::cpu(), candidate.output(), stream.device(), bytes, stream);
  stream.synchronise();
  const auto bad = std::find_if(y.begin(), y.end(), [](float value) { return !std::isfinite(value); });
  if (bad != y.end()) {
    wrong = concat("output ", bad - y.begin(), " of ", y.size(), " is not a finite number");
    return std::nullopt;
  }
  return task.picture_of(candidate.arena().problem().layout, y);
}

/// Compares the pictures of the candidates that passed with the picture of the first. An interruption makes those that
/// were not compared SKIPPED.
void compare_pictures(const FilterTask& task, const std::vector<MeasuredConv>& all, Stream& stream,
                      std::optional<Picture>& first) {
  std::string first_name;
  for (const MeasuredConv& one : all) {
    Measurement& measured = one.measured;
    if (measured.status != row_status::kPassed) continue;
    std::optional<Picture> picture;
    std::string wrong;
    const auto refusal = attempt_run(one.candidate.name(), stream, [&] {  // a large picture takes a second
      picture = picture_by(one.candidate, task, stream, wrong);
    });
    if (refusal || !picture) {
      measured = {};
      measured.status = refusal ? refusal->status : row_status::kFailed;
      measured.reason = refusal ? refusal->reason : wrong;
      continue;
    }
    if (!first) {
      first = std::move(*picture);
      first_name = concat(one.candidate.name(), " ", to_string(one.candidate.arena().problem().layout));
      continue;
    }
    const ByteDifference difference = difference_of(*first, *picture);
    if (difference.count == 0) continue;
    const std::string what =
        concat(difference.count, " of ", picture->pixels.size(), " bytes differ from the picture of ",
               first_name, ", first ", difference.first);
    if (task.filter().exact_on_bytes() || difference.largest > 1) {
      measured = {};
      measured.status = row_status::kFailed;
      measured.reason = what;
    } else {
      add_clause(measured.note, concat(what, " (fractions round either way)"));
    }
  }
}

}  // namespace

ConvBenchRequest filter_request(FilterTask& task, std::optional<Picture>& picture) {
  ConvBenchRequest request;
  request.problem = task.problem(TensorLayout::kNchw);
  request.name = task.filter().name;
  request.end_to_end = true;
  request.arena = [&task](TensorLayout layout) { return std::make_unique<FilterArena>(task, layout); };
  request.together = [&task, &picture](const std::vector<MeasuredConv>& all, Stream& stream) {
    compare_pictures(task, all, stream, picture);
  };
  return request;
}

void filter_study_into(const std::vector<int>& sizes, const std::vector<int>& strides,
                       BenchSession& session) {
  std::vector<std::pair<int, int>> cases;
  for (int size : sizes) {
    for (int stride : strides) cases.emplace_back(size, stride);
  }
  const DeviceKind kind = session.device().kind;
  session.each("study C", cases, [&](const std::pair<int, int>& one) {
    const auto& [size, stride] = one;
    FilterTask task(noise_values(size, size, static_cast<uint64_t>(session.options().seed)),
                    find_filter("edge"), stride);
    std::optional<Picture> picture;
    ConvBenchRequest request = filter_request(task, picture);
    request.specs = registry_specs(kind, {}, kMath, {TensorLayout::kNhwc});
    for (ConvSpec& spec : request.specs) {
      if (!find_conv_backend(kind, spec.name).supports(task.problem(TensorLayout::kNhwc), kMath))
        spec.layout = TensorLayout::kNchw;
    }
    const std::string stride_text = std::to_string(stride);
    request.study = "c";
    request.labels = {{"table", "filter"}, {"size", std::to_string(size)}, {"stride", stride_text}};
    request.published = [edge = size, &stride_text](const ResultRow& row) {
      return published_figure("filter", row.backend, edge, stride_text);
    };
    request.repro = concat("convbench reproduce c --device ", session.device().to_string());
    bench_conv_into(request, session);
  });
}

}  // namespace lenslet
