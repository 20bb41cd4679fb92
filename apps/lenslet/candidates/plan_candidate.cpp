#include "apps/lenslet/candidates/plan_candidate.h"

#include <algorithm>
#include <numeric>

#include "apps/lenslet/candidates/drawn_digits.h"
#include "framework/base/integer_math.h"
#include "framework/base/parallel.h"
#include "framework/execution/slices.h"
#include "framework/execution/tuner.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/pixels.h"
#include "layers/reference/fill.h"
#include "models/classifier.h"
#include "models/prediction.h"

namespace lenslet {
namespace {

// A prime: steps of kStep reach every sample before one repeats.
constexpr int64_t kSamples = 251;
constexpr double kJudgedFlops = 1e9;  // of the judge in one round: a few seconds
constexpr int64_t kStep = 37;         // offset to the next round's sample
constexpr int64_t kPeriod = 16411;    // the order of slots repeats after it; a prime, so no tile divides it
// Batches of up to this many images are judged whole. Of a larger one the judge takes a quarter of this number at each
// end, and half of it at a random place between.
constexpr int64_t kAllJudged = 96;

// How many of the samples the judge can take.
int64_t judged(const Graph& graph, int64_t max_samples) {
  return std::clamp(static_cast<int64_t>(kJudgedFlops / flops_of(graph)), int64_t{2}, max_samples);
}

std::vector<uint8_t> samples_for(const Graph& graph, uint64_t seed) {
  if (reads_digits(graph)) return drawn_digits(judged(graph, kSamples), seed);
  const int64_t values = judged(graph, kSamples) * graph.input_shape().num_elements();
  std::vector<uint8_t> bytes(static_cast<size_t>(values));
  reference::Random random(seed);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random.below(256));
  return bytes;
}

std::vector<uint8_t> chosen_from(const Graph& graph, const ImageDataset& data, uint64_t seed) {
  const int64_t count = std::min(judged(graph, kSamples), data.count);
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
  for (int32_t& sample : order) sample = static_cast<int32_t>(random.below(static_cast<uint64_t>(count)));
  return order;
}

}  // namespace

BatchSamples::BatchSamples(const Graph& graph, std::vector<uint8_t> pixels, uint64_t seed)
    : graph_(graph),
      shape_(graph.input_shape()),
      pixels_(std::move(pixels)),
      order_(random_order(static_cast<int64_t>(pixels_.size()) / shape_.num_elements(), seed)),
      expected_(graph, pixels_.data(), static_cast<int64_t>(pixels_.size()) / shape_.num_elements()),
      all_judged_(std::max<int64_t>(judged(graph, kAllJudged) / 4 * 4, 4)) {}

BatchSamples::BatchSamples(const Graph& graph, uint64_t seed)
    : BatchSamples(graph, samples_for(graph, seed), seed) {}

BatchSamples::BatchSamples(const Graph& graph, const ImageDataset& data, uint64_t seed)
    : BatchSamples(graph, chosen_from(graph, data, seed), seed) {}

int32_t BatchSamples::sample_of(int64_t slot, int round) const noexcept {
  const int64_t first = order_[static_cast<size_t>(slot % kPeriod)];
  return static_cast<int32_t>((first + kStep * round) % count());
}

const ReferenceLogits& BatchSamples::expected(ElementType input) const {
  if (input != ElementType::kUint4) return expected_;
  if (!expected_of_packed_) {
    std::vector<uint8_t> greys = pixels_;
    round_to_greys(greys.data(), static_cast<int64_t>(greys.size()));
    expected_of_packed_.emplace(graph_, greys.data(), count());
  }
  return *expected_of_packed_;
}

void BatchSamples::fill(TensorView input, int round) const {
  const int64_t pixels = shape_.num_elements();
  const size_t image_bytes = bytes_of(input.type, pixels);
  parallel_for(input.shape[0], 256, [&](int64_t begin, int64_t end) {
    for (int64_t slot = begin; slot < end; ++slot) {
      convert_pixels(ElementType::kUint8, pixels_.data() + sample_of(slot, round) * pixels, pixels,
                     graph_.normalisation(), input.type,
                     input.as<char>() + static_cast<size_t>(slot) * image_bytes);
    }
  });
}

// One period is copied from the host. The rest is copied on the device, each time as much as is there.
void BatchSamples::load(Executable& executable, int round) const {
  const TensorView input = executable.input();
  const int64_t batch = executable.batch(), period = std::min(batch, kPeriod);
  const size_t image_bytes = bytes_of(input.type, shape_.num_elements());
  std::vector<float> host(align_up(static_cast<size_t>(period) * image_bytes, sizeof(float)) / sizeof(float));
  TensorView first = input;
  first.data = host.data();
  first.device = Device::cpu();
  first.shape = shape_.batch_of(period);
  fill(first, round);
  copy_bytes(input.data, input.device, host.data(), Device::cpu(), first.bytes(), executable.stream());
  for (int64_t slots = period; slots < batch; slots *= 2) {
    const int64_t more = std::min(slots, batch - slots);
    copy_bytes(input.as<char>() + static_cast<size_t>(slots) * image_bytes, input.device, input.data,
               input.device, static_cast<size_t>(more) * image_bytes, executable.stream());
  }
  executable.stream().synchronise();
}

std::vector<BatchSamples::Slots> BatchSamples::judged_slots(int64_t batch, int round) const {
  if (batch <= all_judged_) return {{0, batch}};
  const int64_t end = all_judged_ / 4, between = all_judged_ / 2;
  const uint64_t room = static_cast<uint64_t>(batch - 2 * end - between + 1);
  const int64_t middle =
      end + static_cast<int64_t>(reference::Random(static_cast<uint64_t>(round)).below(room));
  return {{0, end}, {middle, between}, {batch - end, end}};
}

double products_saved(const Executable& executable) {
  double direct = 0, multiplied = 0;
  for (const Executable::Step& step : executable.steps()) {
    direct += step.work.flops;
    multiplied += step.work.flops / step.op->products_saved();
  }
  return direct / multiplied;
}

Verdict BatchSamples::judge(int round, ElementType input, ElementType output, int64_t batch,
                            const std::vector<float>& answers, double bound) const {
  std::vector<int32_t> shown(static_cast<size_t>(batch));
  for (size_t slot = 0; slot < shown.size(); ++slot)
    shown[slot] = sample_of(static_cast<int64_t>(slot), round);
  Verdict verdict;
  verdict.reason = expected(input).compare(output, answers.data(), shown, bound, verdict.error);
  verdict.passed = verdict.reason.empty();
  return verdict;
}

Verdict PlanCandidate::judge(int round, const std::vector<float>& output) {
  const Plan& plan = executable_->plan();
  return samples_.judge(round, plan.input, plan.output, executable_->batch(), output, bound_);
}

CallCandidate::CallCandidate(std::string name, Model model, int64_t batch, ElementType input,
                             const BatchSamples& samples)
    : name_(std::move(name)),
      model_(std::move(model)),
      batch_(batch),
      input_(input),
      samples_(samples),
      bound_(samples.expected(input).bound(executable())),
      images_(bytes_of(input, batch * model_.input_shape().num_elements())),
      predictions_(static_cast<size_t>(batch)) {}

void CallCandidate::predict(const void* images, int64_t count, Prediction* predictions) {
  if (input_ == ElementType::kUint4) {
    model_.predict(static_cast<const PixelPair*>(images), count, predictions);
  } else {
    model_.predict(static_cast<const uint8_t*>(images), count, predictions);
  }
}

void CallCandidate::load(int round, Stream& /*stream*/) {
  const Shape one = model_.input_shape();
  samples_.fill(
      {reinterpret_cast<float*>(images_.data()), {batch_, one[0], one[1], one[2]}, Device::cpu(), input_},
      round);
}

Verdict CallCandidate::judge(int round, const std::vector<float>& output) {
  return samples_.judge(round, input_, kPrediction, batch_, output, bound_);
}

bool may_run(const Graph& graph, BuildOptions build) {
  if (build.plan) return true;
  bool may = false;
  (void)attempt([&] {
    try {
      const Graph& running = build.execution == Plan::kFused ? *graph.whole() : graph;
      build.batch = slice_samples(running, build);
      may = every_layer_has_candidates(running, build);
    } catch (const UsageError&) {  // a batch too large for a layer
    }
  });
  return may;
}

const PlanTiming::Prepared& PlanTiming::prepare(const std::function<void(Prepared&)>& make) {
  Prepared& plan = plans_.emplace_back();
  const auto refusal = attempt(stream_, [&] {
    try {
      make(plan);
    } catch (const UsageError& error) {  // a batch too large for one layer may suit another plan
      throw UnavailableError(error.what());
    }
  });
  if (refusal) {
    plan.candidate.reset();
    plan.call.reset();
    plan.refusal = *refusal;
  }
  return plan;
}

const PlanTiming::Prepared& PlanTiming::add(const std::string& name, BuildOptions build) {
  build.stream = &stream_;
  return prepare([&](Prepared& plan) {
    plan.candidate =
        std::make_unique<PlanCandidate>(name, std::make_unique<Executable>(graph_, build), samples_);
  });
}

const PlanTiming::Prepared& PlanTiming::add_call(const std::string& name, const std::function<Model()>& make,
                                                 int64_t batch, ElementType input) {
  return prepare([&](Prepared& plan) {
    plan.call = std::make_unique<CallCandidate>(name, make(), batch, input, samples_);
  });
}

void PlanTiming::refuse(const std::string& reason) {
  plans_.push_back({nullptr, nullptr, {row_status::kUnsupported, ExitCode::kUnavailable, reason}});
}

std::vector<Measurement> PlanTiming::measure(const MeasureOptions& options) const {
  std::vector<Candidate*> candidates;
  for (const Prepared& plan : plans_) {
    if (Candidate* const candidate = plan.either()) candidates.push_back(candidate);
  }
  const std::vector<Measurement> measured = lenslet::measure(candidates, stream_, options);
  std::vector<Measurement> results(plans_.size());
  for (size_t i = 0, next = 0; i < plans_.size(); ++i) {
    if (plans_[i].either()) {
      results[i] = measured[next++];
    } else {
      results[i].status = plans_[i].refusal.status;
      results[i].reason = plans_[i].refusal.reason;
    }
  }
  return results;
}

}  // namespace lenslet
