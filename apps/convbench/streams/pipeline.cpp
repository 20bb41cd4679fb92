#include "apps/convbench/streams/pipeline.h"

#include <algorithm>

#include "apps/measuring/verdict.h"
#include "framework/base/counted.h"
#include "framework/base/error.h"

namespace lenslet {
namespace {

Conv2dProblem whole_of(Conv2dProblem part, int parts) {
  part.n *= parts;
  return part;
}

}  // namespace

StreamLane::StreamLane(const std::string& name, const ConvBackend& backend, const Conv2dProblem& part,
                       const BenchOptions& options, Device device, const std::string& choice,
                       bool with_epilogues)
    : stream(device),
      arena(part, options.fill, static_cast<uint64_t>(options.seed)),
      candidate(name, backend, Pipeline::kMath, arena, options.workspace_limit, stream, choice) {
  if (with_epilogues) candidate.prepare_epilogues();
  arena.allocate(device, candidate.max_workspace_bytes(), false);
}

Pipeline::Pipeline(const std::string& name, const ConvBackend& backend, const Conv2dProblem& part, int parts,
                   int lanes, const BenchOptions& options, Device device)
    : parts_(parts),
      part_x_bytes_(part.input_shape().bytes()),
      part_y_bytes_(part.output_shape().bytes()),
      seed_(static_cast<uint64_t>(options.seed) * 1000),
      judge_(whole_of(part, parts), options.fill, seed_, kReferenceMacs),
      host_x_(device, part_x_bytes_ * static_cast<size_t>(parts)),
      host_y_(device, part_y_bytes_ * static_cast<size_t>(parts)) {
  std::string choice;
  for (int i = 0; i < lanes; ++i) {
    const bool with_epilogues = i == 0 && options.measure.verify != Verify::kOff;
    lanes_.push_back(
        std::make_unique<StreamLane>(name, backend, part, options, device, choice, with_epilogues));
    choice = kernel().choice();  // all lanes compute in the same way
  }
}

void Pipeline::copy_in(StreamLane& lane, int part) {
  const auto* from =
      static_cast<const unsigned char*>(host_x_.data()) + static_cast<size_t>(part) * part_x_bytes_;
  copy_bytes(lane.arena.x_to_fill(), lane.stream.device(), from, Device::cpu(), part_x_bytes_, lane.stream);
}

void Pipeline::compute(StreamLane& lane) {
  lane.candidate.run(lane.stream);
  ++lane.calls;
}

void Pipeline::copy_out(StreamLane& lane, int part) {
  auto* to = static_cast<unsigned char*>(host_y_.data()) + static_cast<size_t>(part) * part_y_bytes_;
  copy_bytes(to, Device::cpu(), lane.arena.y(), lane.stream.device(), part_y_bytes_, lane.stream);
}

void Pipeline::wait(int streams) {
  for (int i = 0; i < streams; ++i) lanes_[static_cast<size_t>(i)]->stream.synchronise();
}

void Pipeline::pass(int streams) {
  for (int part = 0; part < parts_; ++part) {
    StreamLane& lane = lane_of(part, streams);
    copy_in(lane, part);
    compute(lane);
    copy_out(lane, part);
  }
  throw_on_unreported_error(lanes_.front()->stream.device());
  wait(streams);
}

double Pipeline::alone_ns(const std::function<void(StreamLane&, int)>& step) {
  StreamLane& lane = *lanes_.front();
  Event begin(lane.stream.device()), end(lane.stream.device());
  begin.record(lane.stream);
  for (int part = 0; part < parts_; ++part) step(lane, part);
  end.record(lane.stream);
  throw_on_unreported_error(lane.stream.device());
  end.synchronise();
  return end.ns_since(begin);
}

double Pipeline::copy_in_ns() {
  return alone_ns([this](StreamLane& lane, int part) { copy_in(lane, part); });
}
double Pipeline::compute_ns() {
  return alone_ns([this](StreamLane& lane, int) { compute(lane); });
}
double Pipeline::copy_out_ns() {
  return alone_ns([this](StreamLane& lane, int part) { copy_out(lane, part); });
}

std::vector<TraceStream> Pipeline::timeline(int streams, double offset_ns, double* end_ns) {
  struct Marks {
    Event begin, copied, computed, end;
  };
  const Device device = lanes_.front()->stream.device();
  std::vector<Marks> marks;
  for (int i = 0; i < parts_; ++i)
    marks.push_back({Event(device), Event(device), Event(device), Event(device)});
  Event origin(device);
  origin.record(lanes_.front()->stream);
  for (int part = 0; part < parts_; ++part) {
    StreamLane& lane = lane_of(part, streams);
    Marks& mark = marks[static_cast<size_t>(part)];
    mark.begin.record(lane.stream);
    copy_in(lane, part);
    mark.copied.record(lane.stream);
    compute(lane);
    mark.computed.record(lane.stream);
    copy_out(lane, part);
    mark.end.record(lane.stream);
  }
  wait(streams);
  std::vector<TraceStream> traces;
  for (int i = 0; i < streams; ++i) traces.push_back({concat("of ", streams, ": stream ", i), {}});
  *end_ns = offset_ns;
  for (int part = 0; part < parts_; ++part) {
    const Marks& mark = marks[static_cast<size_t>(part)];
    std::vector<TraceSpan>& spans = traces[static_cast<size_t>(part % streams)].spans;
    const auto span = [&](const char* name, const Event& from, const Event& to) {
      const double begin = offset_ns + std::max(0.0, from.ns_since(origin)), length = to.ns_since(from);
      spans.push_back({concat(name, " ", part), "part", begin, length});
      *end_ns = std::max(*end_ns, begin + length);
    };
    span("h2d", mark.begin, mark.copied);
    span("conv", mark.copied, mark.computed);
    span("d2h", mark.computed, mark.end);
  }
  return traces;
}

void Pipeline::load(int round) {
  poison_lanes();
  if (loaded_ == round) return;
  data_ = judge_.make_case(seed_ + 100 * static_cast<uint64_t>(round + 1));
  std::copy(data_.x.begin(), data_.x.end(), static_cast<float*>(host_x_.data()));
  loaded_ = round;
}

void Pipeline::poison_lanes() {
  for (auto& lane : lanes_) {
    lane->arena.poison(lane->stream);
    lane->stream.synchronise();
  }
}

Verdict Pipeline::judge(int round, int streams, const std::vector<float>& output) {
  Verdict verdict;
  if (round != loaded_) {
    verdict.reason = concat("input ", round, " is not loaded");
    return verdict;
  }
  const ConvAccuracy& accuracy = lanes_.front()->candidate.accuracy();
  verdict = verdict_of(judge_.compare(data_, output, accuracy, false, false));
  for (int i = 0; i < streams && verdict.reason.empty(); ++i) {
    StreamLane& lane = *lanes_[static_cast<size_t>(i)];
    if (const std::string damage = lane.arena.damage(lane.stream); !damage.empty())
      verdict.reason = concat("stream ", i, " ", damage);
  }
  verdict.passed = verdict.reason.empty();
  return verdict;
}

std::string PassCandidate::name() const { return counted(streams_, "stream"); }

}  // namespace lenslet
