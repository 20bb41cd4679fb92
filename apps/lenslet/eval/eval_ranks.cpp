#include "apps/lenslet/eval/eval_ranks.h"

#include <unistd.h>

#include <algorithm>

#include "apps/common/output/output.h"

namespace lenslet {
namespace {

/// How fast a rank computes its share.
struct RankSpeed {
  RankPart part;
  TimeStats pass, device_pass;
  double first_call_ns = 0, device_images_per_s = 0;
  bool bitwise = true;
};

// `to` is zero-filled, and keeps its last zero.
void copy_text(const std::string& text, char* to, size_t capacity) {
  std::copy_n(text.begin(), std::min(text.size(), capacity - 1), to);
}

RankSpeed speed_of(const Session& session, RankRange range, const Throughput& speed) {
  RankSpeed mine;
  ::gethostname(mine.part.host, sizeof mine.part.host - 1);
  copy_text(session.device().to_string(), mine.part.device, sizeof mine.part.device);
  mine.part.first = range.first;
  mine.part.count = range.count;
  mine.part.images_per_s = speed.images_per_s;
  mine.pass = speed.pass;
  mine.first_call_ns = speed.first_call_ns;
  mine.device_pass = speed.device_pass;
  mine.device_images_per_s = speed.device_images_per_s;
  mine.bitwise = speed.bitwise;
  return mine;
}

void join_speeds(const std::vector<RankSpeed>& ranks, int64_t count, EvalOutcome& outcome) {
  Throughput& speed = outcome.speed;
  speed.device_images_per_s = 0;
  for (const RankSpeed& rank : ranks) {
    outcome.ranks.push_back(rank.part);
    if (rank.part.count == 0) continue;
    if (rank.pass.median > speed.pass.median) speed.pass = rank.pass;
    if (rank.device_pass.median > speed.device_pass.median) speed.device_pass = rank.device_pass;
    speed.first_call_ns = std::max(speed.first_call_ns, rank.first_call_ns);
    speed.device_images_per_s += rank.device_images_per_s;
    speed.bitwise = speed.bitwise && rank.bitwise;
  }
  speed.images_per_s = static_cast<double>(count) / speed.pass.median * 1e9;
}

}  // namespace

RankRange eval_range(const Ranks& ranks, int64_t count) { return ranks.range(count, kImagesPerTask); }

void keep_range(ImageDataset& data, RankRange range) {
  const auto keep = [&](std::vector<uint8_t>& values, int64_t each) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(range.first * each);
    values = {begin, begin + static_cast<std::ptrdiff_t>(range.count * each)};
  };
  keep(data.images, data.rows * data.cols);
  keep(data.labels, 1);
  data.count = range.count;
}

EvalOptions options_of_rank(const Ranks& ranks, const EvalOptions& options) {
  EvalOptions mine = options;
  if (ranks.first()) return mine;
  silence_standard_output();
  for (std::string* file : {&mine.json, &mine.csv, &mine.report, &mine.misses, &mine.logits, &mine.save_plan})
    file->clear();
  return mine;
}

void join_outcomes(Ranks& ranks, const EvalOptions& options, const Session& session, RankRange range,
                   EvalOutcome& outcome) {
  if (ranks.alone()) return;
  Evaluation& total = outcome.evaluation;
  for (Miss& miss : total.misses) miss.index += range.first;
  std::vector<int64_t*> counts = {&outcome.run.count, &total.count, &total.correct, &total.not_numbers};
  for (auto& row : total.confusion)
    for (int64_t& images : row) counts.push_back(&images);
  Beside none[2];  // a rank without images has none
  Beside& fp32 = outcome.fp32 ? *outcome.fp32 : none[0];
  Beside& uint8 = outcome.uint8 ? *outcome.uint8 : none[1];
  counts.insert(counts.end(), {&fp32.correct, &fp32.differing, &uint8.correct, &uint8.differing});
  ranks.sum(counts);
  ranks.gather(total.losses);
  ranks.gather(total.misses);
  const bool logits_written = ranks.all(static_cast<int>(!options.logits.empty())).front() != 0;
  if (logits_written) ranks.gather(outcome.run.logits);
  const std::vector<RankSpeed> speeds = ranks.all(speed_of(session, range, outcome.speed));
  if (!ranks.first()) return;
  total.loss = mean_loss(total);
  join_speeds(speeds, total.count, outcome);
}

}  // namespace lenslet
