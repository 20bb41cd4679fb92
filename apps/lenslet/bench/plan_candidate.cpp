#include "apps/lenslet/bench/plan_candidate.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "apps/lenslet/bench/drawn_digits.h"
#include "framework/base/parallel.h"
#include "layers/reference/fill.h"
#include "models/classifier.h"

namespace lenslet {
namespace {

constexpr int64_t kPictures = 251;
constexpr double kJudgedFlops = 1e9;  // of the judge in one round: a few seconds
constexpr int64_t kStep = 37;         // offset to the next round's picture
constexpr int64_t kPeriod = 16411;    // the order of slots repeats after this number
constexpr int64_t kAllJudged =
    96;  // batches up to this size are judged whole; of a larger one a quarter of this
         // at both ends and half of it between

// How many of the pictures the judge can take.
int64_t judged(const Graph& graph, int64_t most) {
  return std::clamp(static_cast<int64_t>(kJudgedFlops / flops_of(graph)), int64_t{2}, most);
}

std::vector<uint8_t> pictures_for(const Graph& graph, uint64_t seed) {
  if (reads_digits(graph)) return drawn_digits(judged(graph, kPictures), seed);
  const int64_t values = judged(graph, kPictures) * graph.input_shape().num_elements();
  std::vector<uint8_t> bytes(static_cast<size_t>(values));
  reference::Random random(seed);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.below(256));
  return bytes;
}

std::vector<uint8_t> chosen_from(const Graph& graph, const ImageDataset& data, uint64_t seed) {
  const int64_t count = std::min(judged(graph, kPictures), data.count);
  const int64_t values = graph.input_shape().num_elements();
  std::vector<int64_t> index(static_cast<size_t>(data.count));
  std::iota(index.begin(), index.end(), int64_t{0});
  std::vector<uint8_t> pixels;
  reference::Random random(seed);
  for (int64_t i = 0; i < count; ++i) {  // partial Fisher-Yates shuffle
    const auto left = static_cast<uint64_t>(data.count - i);
    std::swap(index[static_cast<size_t>(i)], index[static_cast<size_t>(i) + random.below(left)]);
    const auto image = data.images.begin() + index[static_cast<size_t>(i)] * values;
    pixels.insert(pixels.end(), image, image + values);
  }
  return pixels;
}

std::vector<int32_t> random_order(int64_t count, uint64_t seed) {
  std::vector<int32_t> order(kPeriod);
  reference::Random random(seed + 1);
  for (int32_t& picture : order) picture = static_cast<int32_t>(random.below(static_cast<uint64_t>(count)));
  return order;
}

}  // namespace

BatchPictures::BatchPictures(const Graph& graph, std::vector<uint8_t> pixels, uint64_t seed)
    : shape_(graph.input_shape()),
      pixels_(std::move(pixels)),
      normalised_(pixels_.size()),
      order_(random_order(static_cast<int64_t>(pixels_.size()) / shape_.num_elements(), seed)),
      expected_(graph, pixels_.data(), static_cast<int64_t>(pixels_.size()) / shape_.num_elements()),
      all_judged_(std::max<int64_t>(judged(graph, kAllJudged) / 4 * 4, 4)) {
  graph.normalisation().apply(pixels_.data(), count() * shape_.num_elements(), normalised_.data());
}

BatchPictures::BatchPictures(const Graph& graph, uint64_t seed)
    : BatchPictures(graph, pictures_for(graph, seed), seed) {}

BatchPictures::BatchPictures(const Graph& graph, const ImageDataset& data, uint64_t seed)
    : BatchPictures(graph, chosen_from(graph, data, seed), seed) {}

int32_t BatchPictures::picture_of(int64_t slot, int round) const noexcept {
  const int64_t first = order_[static_cast<size_t>(slot % kPeriod)];
  return static_cast<int32_t>((first + kStep * round) % count());
}

void BatchPictures::fill(TensorView input, int round) const {
  const size_t image_bytes = static_cast<size_t>(shape_.num_elements()) * element_bytes(input.type);
  const char* const all = input.type == ElementType::kUint8
                              ? reinterpret_cast<const char*>(pixels_.data())
                              : reinterpret_cast<const char*>(normalised_.data());
  parallel_for(input.shape[0], 256, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      std::memcpy(input.as<char>() + static_cast<size_t>(slot) * image_bytes,
                  all + static_cast<size_t>(picture_of(slot, round)) * image_bytes, image_bytes);
    }
  });
}

// One period is copied from the host; the rest is copied on the device, twice as much each time.
void BatchPictures::load(Executable& executable, int round) const {
  const TensorView input = executable.input();
  const int64_t batch = executable.batch(), period = std::min(batch, kPeriod);
  const size_t image_bytes = static_cast<size_t>(shape_.num_elements()) * element_bytes(input.type);
  std::vector<float> host((static_cast<size_t>(period) * image_bytes + sizeof(float) - 1) / sizeof(float));
  TensorView first = input;
  first.data = host.data();
  first.device = Device::cpu();
  std::vector<int64_t> sizes = {period};
  for (int i = 0; i < shape_.rank(); ++i) sizes.push_back(shape_[i]);
  first.shape = Shape(sizes.data(), static_cast<int>(sizes.size()));
  fill(first, round);
  copy_bytes(input.data, input.device, host.data(), Device::cpu(), first.bytes(), executable.stream());
  for (int64_t slots = period; slots < batch; slots *= 2) {
    const int64_t more = std::min(slots, batch - slots);
    copy_bytes(input.as<char>() + static_cast<size_t>(slots) * image_bytes, input.device, input.data,
               input.device, static_cast<size_t>(more) * image_bytes, executable.stream());
  }
  executable.stream().synchronise();
}

std::vector<BatchPictures::Slots> BatchPictures::judged_slots(int64_t batch, int round) const {
  if (batch <= all_judged_) return {{0, batch}};
  const int64_t end = all_judged_ / 4, between = all_judged_ / 2;
  const uint64_t room = static_cast<uint64_t>(batch - 2 * end - between + 1);
  const int64_t middle =
      end + static_cast<int64_t>(reference::Random(static_cast<uint64_t>(round)).below(room));
  return {{0, end}, {middle, between}, {batch - end, end}};
}

double PlanCandidate::products_saved() const {
  double direct = 0, multiplied = 0;
  for (const Executable::Step& step : executable_->steps()) {
    direct += step.work.flops;
    multiplied += step.work.flops / step.op->products_saved();
  }
  return direct / multiplied;
}

Verdict PlanCandidate::judge(int round, const std::vector<float>& output) {
  std::vector<int32_t> picture_of(static_cast<size_t>(executable_->batch()));
  for (size_t slot = 0; slot < picture_of.size(); ++slot) {
    picture_of[slot] = pictures_.picture_of(static_cast<int64_t>(slot), round);
  }
  Verdict verdict;
  verdict.reason = pictures_.expected().compare(executable_->output().type, output.data(), picture_of, bound_,
                                                verdict.error);
  verdict.passed = verdict.reason.empty();
  return verdict;
}

const PlanContest::Prepared& PlanContest::add(const std::string& name, BuildOptions build) {
  Prepared& plan = plans_.emplace_back();
  build.stream = &stream_;
  const auto refusal = attempt(stream_, [&] {
    try {
      plan.candidate =
          std::make_unique<PlanCandidate>(name, std::make_unique<Executable>(graph_, build), pictures_);
    } catch (const UsageError& error) {  // a batch too large for one layer may suit another plan
      throw UnavailableError(error.what());
    }
  });
  if (refusal) {
    plan.candidate.reset();
    plan.refusal = *refusal;
  }
  return plan;
}

void PlanContest::refuse(const std::string& reason) {
  plans_.push_back({nullptr, {"UNSUPPORTED", ExitCode::kUnavailable, reason}});
}

std::vector<Measurement> PlanContest::measure(const MeasureOptions& options) const {
  std::vector<Candidate*> candidates;
  for (const Prepared& plan : plans_) {
    if (plan.candidate) candidates.push_back(plan.candidate.get());
  }
  const std::vector<Measurement> measured = lenslet::measure(candidates, stream_, options);
  std::vector<Measurement> results(plans_.size());
  for (size_t i = 0, next = 0; i < plans_.size(); ++i) {
    if (plans_[i].candidate) {
      results[i] = measured[next++];
    } else {
      results[i].status = plans_[i].refusal.status;
      results[i].reason = plans_[i].refusal.reason;
    }
  }
  return results;
}

}  // namespace lenslet
