#include "apps/measuring/candidate_checks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/measuring/stream_gate.h"
#include "framework/tensor/poison.h"
#include "framework/tensor/stored_floats.h"
#include "framework/tensor/tensor.h"

namespace lenslet {
namespace {

constexpr uint32_t kPoison = 0x01010101u * kNanByte;  // a poisoned output
constexpr uint16_t kPoison16 = kPoison & 0xffffu;     // of elements of 16 bits
// While the stream is held back, work on other streams gets three times its usual time, within these limits; the gate
// itself opens after a quarter of a second.
constexpr double kMinWaitNs = 2e6, kMaxWaitNs = 80e6;
// The CPU has no stream to hold back: work of other threads appears within this time.
constexpr double kStragglersNs = 20e6;
constexpr size_t kPeekCount = size_t{1} << 16;

bool poisoned(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits == kPoison;
}

int64_t count_poisoned(const std::vector<float>& values) {
  std::atomic<int64_t> total{0};
  parallel_for(static_cast<int64_t>(values.size()), int64_t{1} << 16, [&](int64_t begin, int64_t end) {
    total += std::count_if(values.begin() + begin, values.begin() + end, poisoned);
  });
  return total;
}

// The first output that is not finite, including outputs that are not judged; -1 if all are finite.
int64_t first_not_finite(const std::vector<float>& values) {
  std::atomic<int64_t> first{INT64_MAX};
  parallel_for(static_cast<int64_t>(values.size()), int64_t{1} << 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (std::isfinite(values[static_cast<size_t>(i)])) continue;
      int64_t known = first.load();
      while (i < known && !first.compare_exchange_weak(known, i)) {
      }
      return;
    }
  });
  return first.load() == INT64_MAX ? -1 : first.load();
}

// FNV-1a (Fowler, Noll and Vo) over at most a million words instead of bytes; digests of different outputs do not
// collide by accident.
uint64_t digest(const std::vector<float>& values) {
  constexpr size_t kWords = size_t{1} << 20;
  const size_t step = std::max<size_t>(1, values.size() / kWords);
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < values.size(); i += step) {
    uint32_t bits;
    std::memcpy(&bits, &values[i], sizeof bits);
    hash = (hash ^ bits) * 0x100000001b3u;
  }
  return hash;
}

void sleep_ns(double ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<int64_t>(ns))); }

}  // namespace

void CandidateChecks::poison() {
  fill_bytes(candidate_.output(), place_, kNanByte, bytes(candidate_.output_count()), stream_);
}

void CandidateChecks::touch() { fill_bytes(candidate_.output(), place_, 0, bytes(1), stream_); }

void CandidateChecks::widen(const void* elements, size_t count, float* values) const {
  load_floats(type_, elements, static_cast<int64_t>(count), values);
  if (type_ == ElementType::kFp32) return;
  const auto* const bits = static_cast<const uint16_t*>(elements);
  parallel_for(static_cast<int64_t>(count), int64_t{1} << 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (bits[i] == kPoison16) std::memcpy(&values[i], &kPoison, sizeof kPoison);
    }
  });
}

const std::vector<float>& CandidateChecks::download(int round) {
  size_t count = 0;
  const std::vector<Candidate::Part> parts = candidate_.judged(round);
  for (const Candidate::Part& part : parts) count += part.count;
  scratch_.resize(count);
  const bool widened = type_ != ElementType::kFp32;
  if (widened) bits_.resize(bytes(count));
  void* to = widened ? static_cast<void*>(bits_.data()) : scratch_.data();
  for (const Candidate::Part& part : parts) {
    copy_bytes(to, Device::cpu(), element(candidate_.output(), part.first), place_, bytes(part.count),
               stream_);
    to = element(to, part.count);
  }
  stream_.synchronise();
  if (widened) widen(bits_.data(), count, scratch_.data());
  return scratch_;
}

std::string CandidateChecks::judge(int round, const std::vector<float>& output) {
  const int64_t never = count_poisoned(output);
  if (never > 0) {
    return concat("skipped work: ", never, " of ", output.size(), " outputs were never written");
  }
  const uint64_t now = digest(output);
  const bool repeated = last_round_ >= 0 && last_round_ != round && now == last_digest_;
  last_digest_ = now;
  last_round_ = round;
  const Verdict verdict = candidate_.judge(round, output);
  error_.max_abs = std::max(error_.max_abs, verdict.error.max_abs);
  error_.max_rel = std::max(error_.max_rel, verdict.error.max_rel);
  error_.bound = std::max(error_.bound, verdict.error.bound);
  error_.checked += verdict.error.checked;
  if (verdict.passed) {
    const int64_t odd = first_not_finite(output);
    return odd < 0 ? std::string() : concat("found ", output[static_cast<size_t>(odd)], " at ", odd);
  }
  if (repeated) return concat("returned a cached output: the same as for another input; ", verdict.reason);
  return verdict.reason;
}

std::string CandidateChecks::judge_output(int round) {
  const std::vector<float>& output = download(round);
  throw_on_unreported_error(stream_.device());
  return judge(round, output);
}

std::string CandidateChecks::judge_run(int round, int64_t calls, double usual_ns) {
  candidate_.load(round, stream_);
  poison();
  stream_.synchronise();
  const bool on_cpu = !place_.is_cuda();
  if (on_cpu) {
    sleep_ns(kStragglersNs);
    if (output_changed(stream_)) return "used another thread: the output changed after run() had returned";
  }
  if (on_cpu || std::isnan(usual_ns)) {
    candidate_.run(stream_);
    throw_on_unreported_error(stream_.device());
    stream_.synchronise();
  } else if (changes_while_held_back(usual_ns)) {
    return "used another stream: the output changed while the stream it was given was held back";
  }
  std::string wrong = judge_output(round);
  if (wrong.empty()) return wrong;
  if (on_cpu) {
    // Results that arrive after run() returned were computed elsewhere.
    const std::vector<float> then = download(round);
    sleep_ns(kStragglersNs);
    const std::vector<float>& later = download(round);
    if (std::memcmp(then.data(), later.data(), then.size() * sizeof(float)) != 0) {
      return "used another thread: the output still changed after run() had returned";
    }
  }
  return calls > 0 ? concat("wrong after ", calls, " calls, right before them: ", wrong) : wrong;
}

std::string CandidateChecks::judge_run_over(int standing, int round) {
  const std::vector<Candidate::Part> parts = candidate_.judged(standing);
  const std::vector<float> answer = download(standing);  // load() may poison the output
  candidate_.load(round, stream_);
  std::vector<float> stored = stored_floats(type_, answer.data(), static_cast<int64_t>(answer.size()));
  void* from = stored.data();
  for (const Candidate::Part& part : parts) {
    copy_bytes(element(candidate_.output(), part.first), place_, from, Device::cpu(), bytes(part.count),
               stream_);
    from = element(from, part.count);
  }
  stream_.synchronise();
  candidate_.run(stream_);
  throw_on_unreported_error(stream_.device());
  stream_.synchronise();
  const std::string wrong = judge_output(round);
  return wrong.empty() ? wrong : concat("wrong where the output of another input stood: ", wrong);
}

std::string CandidateChecks::judge_end_to_end(int round) {
  poison();
  float* const host = candidate_.host_output();
  const size_t count = candidate_.output_count();
  std::memset(host, kNanByte, bytes(count));
  candidate_.copy_in(stream_);
  candidate_.run(stream_);
  candidate_.copy_out(stream_);
  throw_on_unreported_error(stream_.device());
  stream_.synchronise();
  scratch_.clear();
  for (const Candidate::Part& part : candidate_.judged(round)) {
    const size_t before = scratch_.size();
    scratch_.resize(before + part.count);
    widen(element(host, part.first), part.count, scratch_.data() + before);
  }
  return judge(round, scratch_);
}

std::vector<float> CandidateChecks::peek(Stream& stream) {
  const size_t count = candidate_.output_count(), part = std::min(count, kPeekCount);
  std::vector<char> elements(bytes(3 * part));
  void* to = elements.data();
  for (const size_t first : {size_t{0}, (count - part) / 2, count - part}) {
    copy_bytes(to, Device::cpu(), element(candidate_.output(), first), place_, bytes(part), stream);
    to = element(to, part);
  }
  stream.synchronise();
  std::vector<float> seen(3 * part);
  widen(elements.data(), seen.size(), seen.data());
  return seen;
}

bool CandidateChecks::output_changed(Stream& stream) {
  const std::vector<float> seen = peek(stream);
  return !std::all_of(seen.begin(), seen.end(), poisoned);
}

bool CandidateChecks::still_poisoned() {
  const std::vector<float> seen = peek(stream_);
  return std::any_of(seen.begin(), seen.end(), poisoned);
}

bool CandidateChecks::changes_while_held_back(double usual_ns) {
  Stream other(stream_.device());
  StreamGate gate(stream_);
  candidate_.run(stream_);
  throw_on_unreported_error(stream_.device());
  sleep_ns(std::clamp(3 * usual_ns, kMinWaitNs, kMaxWaitNs));
  const bool changed = output_changed(other);
  // If the gate opened early (run() has more launches than a stream holds back), the check is inconclusive.
  const bool held_back = !gate.gave_up();
  gate.open();
  stream_.synchronise();
  return changed && held_back;
}

}  // namespace lenslet
