#include "framework/execution/profiler.h"

#include <algorithm>
#include <cmath>

#include "framework/base/clock.h"
#include "framework/base/error.h"
#include "framework/measuring/cache_flush.h"
#include "framework/measuring/nvtx.h"
#include "framework/measuring/sampler.h"
#include "framework/measuring/stream_gate.h"

namespace lenslet {

namespace {

// Times stages with pairs of events created in advance. The first pass of a layer with many stages creates more.
class StageRecorder : public Tracer {
 public:
  struct Entry {
    const char* name;
    size_t begin, end;
  };

  StageRecorder(Stream& stream, size_t capacity) : stream_(stream) {
    for (size_t i = 0; i < capacity; ++i) events_.emplace_back(stream.device());
    entries_.reserve(capacity);
    open_.reserve(capacity);
  }
  void begin(const char* name) override {
    // Also the events that end this stage and those around it, because end() may not fail.
    while (events_.size() < used_ + open_.size() + 2) events_.emplace_back(stream_.device());
    nvtx_push(name);
    open_.push_back(entries_.size());
    entries_.push_back({name, record(), 0});
  }
  void end() noexcept override {
    nvtx_pop();
    try {
      entries_[open_.back()].end = record();
    } catch (const Error&) {
      failed_ = true;  // the next synchronisation reports the error of the device
    }
    open_.pop_back();
  }
  void clear() {
    used_ = 0;
    entries_.clear();
  }
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  double begin_ns(const Entry& entry, const Event& origin) const {
    return events_[entry.begin].ns_since(origin);
  }
  double duration_ns(const Entry& entry) const { return events_[entry.end].ns_since(events_[entry.begin]); }
  bool failed() const noexcept { return failed_; }

 private:
  size_t record() {
    events_[used_].record(stream_);
    return used_++;
  }
  Stream& stream_;
  std::vector<Event> events_;
  std::vector<Entry> entries_;
  std::vector<size_t> open_;
  size_t used_ = 0;
  bool failed_ = false;
};

// Stages of a step for which events are created in advance. Most backends have at most three, but one that computes in
// slices has them in each slice. Chosen by hand.
constexpr size_t kStagesPerStep = 16;

class PassProfiler {
 public:
  PassProfiler(Executable& executable, const ProfileOptions& options)
      : executable_(executable),
        options_(options),
        stream_(executable.stream()),
        steps_(executable.steps().size()),
        slices_(static_cast<size_t>(executable.slices())),
        recorder_(stream_, 2 * kStagesPerStep * steps_) {
    for (size_t i = 0; i <= steps_ * slices_; ++i) events_.emplace_back(executable.device());
  }

  Profile measure() {
    Profile profile;
    profile.layers.resize(steps_);
    for (size_t i = 0; i < steps_; ++i) profile.layers[i].step = i;
    {
      NvtxRange range("warmup");
      warm_up();
    }
    if (options_.capture) profiler_start();
    {
      NvtxRange range("measure");
      measure_passes(profile);
      measure_stages(profile);
    }
    if (options_.capture) profiler_stop();
    if (options_.cold) measure_cold(profile);
    if (options_.copies && executable_.device().is_cuda()) measure_copies(profile);
    account(profile);
    profile.held_back = held_back_.all();
    return profile;
  }

 private:
  void warm_up() {
    Sampler sampler(options_.warmup_ms, 1, INT_MAX, options_.stop);
    while (sampler.next()) {
      for_each_step([&](size_t i, size_t slice, size_t) { run_step(i, slice, &recorder_); });
      recorder_.clear();
      executable_.run();
      stream_.synchronise();
    }
    pass(true, &recorder_);  // the longest kind of pass shows whether the stream can be held back
    recorder_.clear();
  }

  // Calls visit(step, slice, number in the pass) in the order of a pass.
  template <typename Visit>
  void for_each_step(const Visit& visit) const {
    for (size_t slice = 0; slice < slices_; ++slice) {
      for (size_t i = 0; i < steps_; ++i) visit(i, slice, slice * steps_ + i);
    }
  }

  void run_step(size_t step, size_t slice, Tracer* tracer) {
    executable_.run_step(step, tracer, static_cast<int64_t>(slice));
  }

  // One pass. With `inner`, an event after every step; else only the outer two.
  double pass(bool inner, Tracer* tracer) {
    held_back_.run([&] {
      events_[0].record(stream_);
      for_each_step([&](size_t i, size_t slice, size_t number) {
        run_step(i, slice, tracer);
        if (inner || number + 1 == steps_ * slices_) events_[number + 1].record(stream_);
      });
    });
    return events_.back().ns_since(events_[0]);
  }

  double events_only() {
    held_back_.run([&] {
      for (Event& event : events_) event.record(stream_);
    });
    return events_.back().ns_since(events_[0]) / static_cast<double>(steps_ * slices_);
  }

  // The kinds of pass take turns, so that clock drift affects all of them alike.
  void measure_passes(Profile& profile) {
    std::vector<double> uninstrumented, instrumented, wall, events;
    std::vector<std::vector<double>> layers(steps_);
    Sampler sampler(options_.min_time_ms, options_.min_passes, options_.max_passes, options_.stop);
    while (sampler.next()) {
      uninstrumented.push_back(pass(false, nullptr));
      instrumented.push_back(pass(true, nullptr));
      for (std::vector<double>& samples : layers) samples.push_back(0);
      for_each_step([&](size_t i, size_t, size_t number) {
        layers[i].back() += events_[number + 1].ns_since(events_[number]);
      });
      events.push_back(events_only());
      const double start = host_now_ns();
      // Step by step, without a captured graph.
      for_each_step([&](size_t i, size_t slice, size_t) { run_step(i, slice, nullptr); });
      stream_.synchronise();
      wall.push_back(host_now_ns() - start);
    }
    profile.uninstrumented = summarise(uninstrumented);
    profile.instrumented = summarise(instrumented);
    profile.wall = summarise(wall);
    profile.event_ns = summarise(events).median;
    for (size_t i = 0; i < steps_; ++i) profile.layers[i].hot = summarise(layers[i]);
  }

  // Passes with stage events are slower, so they give the stages and the trace, but not the layers' times.
  void measure_stages(Profile& profile) {
    std::vector<std::vector<std::pair<std::string, std::vector<double>>>> stages(steps_);
    std::vector<std::pair<double, std::vector<TraceSpan>>> traces;
    Sampler sampler(options_.min_time_ms / 4, std::min(options_.min_passes, 9), 50, options_.stop);
    size_t passes = 0;
    while (sampler.next()) {
      ++passes;
      recorder_.clear();
      std::vector<size_t> first_entry(steps_ * slices_ + 1, 0);
      held_back_.run([&] {
        events_[0].record(stream_);
        for_each_step([&](size_t i, size_t slice, size_t number) {
          run_step(i, slice, &recorder_);
          events_[number + 1].record(stream_);
          first_entry[number + 1] = recorder_.entries().size();
        });
      });
      if (recorder_.failed())
        throw DeviceError(
            "the profiler could not record an event inside a layer, so a time is unknown: profile again");
      const double total = events_.back().ns_since(events_[0]);
      std::vector<TraceSpan> spans = {{"pass", "pass", 0, total}};
      for_each_step([&](size_t i, size_t, size_t number) {
        const double begin = events_[number].ns_since(events_[0]);
        spans.push_back(
            {executable_.steps()[i].name, "layer", begin, events_[number + 1].ns_since(events_[number])});
        for (size_t e = first_entry[number]; e < first_entry[number + 1]; ++e) {
          const StageRecorder::Entry& entry = recorder_.entries()[e];
          const double duration = recorder_.duration_ns(entry);
          spans.push_back({entry.name, "stage", recorder_.begin_ns(entry, events_[0]), duration});
          // A stage that a layer enters several times counts once, with the sum.
          const auto row = std::find_if(stages[i].begin(), stages[i].end(),
                                        [&](const auto& stage) { return stage.first == entry.name; });
          if (row == stages[i].end()) {
            stages[i].push_back({entry.name, {duration}});
          } else if (row->second.size() < passes) {
            row->second.push_back(duration);
          } else {
            row->second.back() += duration;
          }
        }
      });
      traces.emplace_back(total, std::move(spans));
    }
    for (size_t i = 0; i < steps_; ++i) {
      for (auto& [name, samples] : stages[i]) profile.layers[i].stages.push_back({name, summarise(samples)});
    }
    const auto middle = traces.begin() + static_cast<std::ptrdiff_t>(traces.size() / 2);
    std::nth_element(traces.begin(), middle, traces.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    profile.spans = std::move(middle->second);
  }

  void measure_cold(Profile& profile) {
    CacheFlush flush(executable_.device());
    // Flushing a large CPU cache takes much longer than a layer, so all layers share the requested time.
    for (size_t i = 0; i < steps_; ++i) {
      std::vector<double> samples;
      Sampler sampler(options_.min_time_ms / static_cast<double>(steps_), 3, options_.max_passes,
                      options_.stop);
      while (sampler.next()) {
        held_back_.run([&] {
          flush.enqueue(stream_);
          events_[0].record(stream_);
          run_step(i, 0, nullptr);
          events_[1].record(stream_);
        });
        samples.push_back(events_[1].ns_since(events_[0]) * static_cast<double>(slices_));
      }
      profile.layers[i].cold = summarise(samples);
    }
  }

  void measure_copies(Profile& profile) {
    const TensorView input = executable_.input();
    const ConstTensorView output = executable_.output();
    profile.h2d_bytes = input.bytes();
    profile.d2h_bytes = output.bytes();
    PinnedBuffer host_in(input.device, profile.h2d_bytes), host_out(input.device, profile.d2h_bytes);
    // The input must stay unchanged, so the host side is first filled from the device.
    copy_bytes(host_in.data(), Device::cpu(), input.data, input.device, profile.h2d_bytes, stream_);
    stream_.synchronise();
    const auto timed = [&](const char* name, void* dst, Device to, const void* src, Device from,
                           size_t bytes) {
      held_back_.run([&] {
        events_[0].record(stream_);
        {
          NvtxRange range(name);
          copy_bytes(dst, to, src, from, bytes, stream_);
        }
        events_[1].record(stream_);
      });
      return events_[1].ns_since(events_[0]);
    };
    std::vector<double> in, out;
    Sampler sampler(options_.min_time_ms / 4, std::min(options_.min_passes, 9), options_.max_passes,
                    options_.stop);
    while (sampler.next()) {
      in.push_back(timed("h2d", input.data, input.device, host_in.data(), Device::cpu(), profile.h2d_bytes));
      out.push_back(
          timed("d2h", host_out.data(), Device::cpu(), output.data, output.device, profile.d2h_bytes));
    }
    profile.h2d = summarise(in);
    profile.d2h = summarise(out);
  }

  void account(Profile& profile) const {
    for (const LayerProfile& layer : profile.layers) profile.layers_ns += layer.hot.median;
    profile.steps = steps_ * slices_;
    profile.events_ns = profile.event_ns * static_cast<double>(profile.steps - 1);
    profile.residual_ns = profile.uninstrumented.median - (profile.layers_ns - profile.events_ns);
  }

  Executable& executable_;
  const ProfileOptions& options_;
  Stream& stream_;
  size_t steps_, slices_;
  HeldBack held_back_{stream_};
  StageRecorder recorder_;
  std::vector<Event> events_;
};

}  // namespace

Profile profile(Executable& executable, const ProfileOptions& options) {
  DeviceGuard guard(executable.device());
  return PassProfiler(executable, options).measure();
}

}  // namespace lenslet
