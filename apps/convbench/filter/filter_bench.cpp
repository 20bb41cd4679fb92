#include "apps/convbench/filter/filter_bench.h"

#include <algorithm>
#include <memory>

#include "apps/convbench/published.h"
#include "framework/error.h"
#include "framework/statistics.h"
#include "layers/conv/prepare_services.h"
#include "layers/reference/guarded_memory.h"

namespace lenslet {
namespace {

using reference::GuardedMemory;

constexpr MathMode kMath = MathMode::kFp32;  // tf32 and fp16 would not hold the sums
enum Block : size_t { kInput, kOutput, kWorkspace };

/// Input, output and workspace in one layout, between canaries. Backends take turns, so one set serves them all.
class FilterArena {
 public:
  FilterArena(FilterTask& task, TensorLayout layout) : task_(task), problem_(task.problem(layout)) {}

  FilterTask& task() const noexcept { return task_; }
  const Conv2dProblem& problem() const noexcept { return problem_; }
  /// Once the largest workspace is known. Throws MemoryError.
  void allocate(Device device, size_t workspace_bytes) {
    const size_t x_bytes = problem_.input_shape().bytes(), y_bytes = problem_.output_shape().bytes();
    memory_.emplace(device, std::vector<size_t>{x_bytes, y_bytes, workspace_bytes});
    if (!device.is_cuda()) return;
    host_x_.emplace(device, x_bytes);
    host_y_.emplace(device, y_bytes);
  }
  void load(int round, Stream& stream) {
    if (round == loaded_) return;
    const std::vector<float> x = task_.input(round, problem_.layout);
    memory_->poison(GuardedMemory::kNanByte, stream);
    memory_->upload(kInput, x.data(), stream);
    if (host_x_) std::copy(x.begin(), x.end(), static_cast<float*>(host_x_->data()));
    stream.synchronize();
    loaded_ = round;
  }
  /// What was written outside the blocks; empty when nothing was.
  std::string damage(Stream& stream) {
    std::string found = memory_->damage(GuardedMemory::kNanByte, stream);
    if (!found.empty()) loaded_ = -1;  // the next backend gets whole canaries
    return found;
  }

  const float* x() const { return static_cast<const float*>(memory_->block(kInput)); }
  float* y() const { return static_cast<float*>(memory_->block(kOutput)); }
  size_t y_count() const { return memory_->block_bytes(kOutput) / sizeof(float); }
  void* workspace() const { return memory_->block(kWorkspace); }
  bool end_to_end() const noexcept { return host_y_.has_value(); }
  void copy_in(Stream& stream) {
    copy_bytes(memory_->block(kInput), stream.device(), host_x_->data(), Device::cpu(), host_x_->bytes(),
               stream);
  }
  void copy_out(Stream& stream) {
    copy_bytes(host_y_->data(), Device::cpu(), y(), stream.device(), host_y_->bytes(), stream);
  }
  float* host_y() const { return static_cast<float*>(host_y_->data()); }

 private:
  FilterTask& task_;
  Conv2dProblem problem_;
  std::optional<GuardedMemory> memory_;
  std::optional<PinnedBuffer> host_x_, host_y_;
  int loaded_ = -1;
};

/// A backend prepared for the task.
class FilterContender : public Contender {
 public:
  FilterContender(const ConvCandidate& candidate, const ConvBackend& backend, FilterArena& arena,
                  size_t workspace_limit, Stream& stream)
      : name_(candidate.name),
        arena_(arena),
        accuracy_(backend.accuracy(arena.problem(), kMath)),
        stream_(stream),
        services_(stream) {
    const double start = host_now_ns();
    kernel_ = backend.prepare({arena.problem(), kMath, arena.task().weights().data(), nullptr, false,
                               workspace_limit, services_, stream});
    stream.synchronize();
    prepare_ns_ = host_now_ns() - start;
  }

  std::string name() const override { return name_; }
  void load(int round, Stream& stream) override { arena_.load(round, stream); }
  void run(Stream& stream) override {
    RunContext context{stream, kernel_->workspace_bytes() > 0 ? arena_.workspace() : nullptr, nullptr};
    kernel_->run({arena_.x(), arena_.y()}, context);
  }
  float* output() override { return arena_.y(); }
  size_t output_count() const override { return arena_.y_count(); }
  Verdict judge(int round, const std::vector<float>& output) override {
    Verdict verdict = arena_.task().judge(round, arena_.problem().layout, output, accuracy_);
    const std::string damage = arena_.damage(stream_);
    if (verdict.passed && !damage.empty()) {
      verdict.passed = false;
      verdict.reason = concat(damage, " (blocks: 0 input, 1 output, 2 workspace)");
    }
    return verdict;
  }
  bool end_to_end() const override { return arena_.end_to_end(); }
  void copy_in(Stream& stream) override { arena_.copy_in(stream); }
  void copy_out(Stream& stream) override { arena_.copy_out(stream); }
  float* host_output() override { return arena_.host_y(); }

  const FilterArena& arena() const noexcept { return arena_; }
  const ConvKernel& kernel() const noexcept { return *kernel_; }
  double prepare_ns() const noexcept { return prepare_ns_; }
  /// What a run makes of the picture itself.
  Image picture() {
    load(0, stream_);
    fill_bytes(arena_.y(), stream_.device(), GuardedMemory::kNanByte, arena_.y_count() * sizeof(float),
               stream_);
    run(stream_);
    std::vector<float> y(output_count());
    copy_bytes(y.data(), Device::cpu(), arena_.y(), stream_.device(), y.size() * sizeof(float), stream_);
    stream_.synchronize();
    return arena_.task().image_of(arena_.problem().layout, y);
  }

 private:
  std::string name_;
  FilterArena& arena_;
  ConvAccuracy accuracy_;
  Stream& stream_;
  DevicePrepareServices services_;
  std::unique_ptr<ConvKernel> kernel_;
  double prepare_ns_ = 0;
};

/// One candidate on its way to its rows.
struct Entry {
  ResultRow base;
  std::unique_ptr<FilterContender> contender;
  std::string status, reason;  // where there is no contender
};

ResultRow base_row(const FilterTask& task, const FilterRequest& request, const ConvCandidate& candidate) {
  ResultRow row;
  row.name = task.filter().name;
  row.problem = task.problem(candidate.layout).to_string();
  row.backend = candidate.name;
  row.math = to_string(kMath);
  row.layout = to_string(candidate.layout);
  row.study = request.study;
  row.labels = request.labels;
  row.repro = request.repro;
  if (request.published) row.published = request.published(row);
  return row;
}

void refuse(Entry& entry, const ConvCandidate& candidate, const char* status, const Error& error,
            BenchSession& session) {
  entry.contender.reset();
  entry.status = status;
  entry.reason = error.what();
  session.refuse(candidate.by_name ? candidate.name : std::string(), error.exit_code(), error.what());
}

Entry prepare(const ConvCandidate& candidate, FilterArena& arena, const FilterRequest& request,
              BenchSession& session) {
  Entry entry;
  entry.base = base_row(arena.task(), request, candidate);
  try {
    const ConvBackend& backend = candidate.open();
    const Support support = backend.supports(arena.problem(), kMath);
    if (!support) throw Error(support.code(), support.reason());
    entry.contender = std::make_unique<FilterContender>(candidate, backend, arena,
                                                        session.options().workspace_limit, session.stream());
    const ConvKernel& kernel = entry.contender->kernel();
    entry.base.detail = kernel.detail();
    entry.base.launches = kernel.launches();
    entry.base.setup_ns = entry.contender->prepare_ns();
    entry.base.workspace_bytes = static_cast<int64_t>(kernel.workspace_bytes());
  } catch (const MemoryError& error) {
    refuse(entry, candidate, "SKIPPED", error, session);
  } catch (const Error& error) {
    if (error.exit_code() == ExitCode::kDevice) throw;
    refuse(entry, candidate, "UNSUPPORTED", error, session);
  }
  return entry;
}

/// Gives an arena its memory, or its backends the reason why they have none.
void allocate(FilterArena& arena, std::vector<Entry>& entries, const FilterRequest& request,
              BenchSession& session) {
  size_t workspace = 0;
  bool used = false;
  for (const Entry& entry : entries) {
    if (!entry.contender || &entry.contender->arena() != &arena) continue;
    used = true;
    workspace = std::max(workspace, entry.contender->kernel().workspace_bytes());
  }
  if (!used) return;
  try {
    arena.allocate(session.device(), workspace);
  } catch (const MemoryError& error) {
    for (size_t i = 0; i < entries.size(); ++i) {
      if (entries[i].contender && &entries[i].contender->arena() == &arena) {
        refuse(entries[i], request.candidates[i], "SKIPPED", error, session);
      }
    }
  }
}

/// Compares what the backends that passed make of the picture; `measurements` of those that have a contender, in order.
std::optional<Image> compare_pictures(const FilterTask& task, std::vector<Entry>& entries,
                                      std::vector<Measurement>& measurements) {
  std::optional<Image> first;
  std::string first_name;
  size_t next = 0;
  for (Entry& entry : entries) {
    if (!entry.contender) continue;
    Measurement& measured = measurements[next++];
    if (measured.status != "PASSED") continue;
    Image image = entry.contender->picture();
    if (!first) {
      first = std::move(image);
      first_name = concat(entry.base.backend, " ", entry.base.layout);
      continue;
    }
    const ByteDifference difference = difference_of(*first, image);
    if (difference.count == 0) continue;
    const std::string what =
        concat(difference.count, " of ", image.pixels.size(), " bytes differ from the picture of ",
               first_name, ", first ", difference.first);
    if (task.filter().exact_on_bytes() || difference.largest > 1) {
      measured = {};
      measured.status = "FAILED";
      measured.reason = what;
    } else {
      measured.note += concat(measured.note.empty() ? "" : "; ", what, " (fractions round either way)");
    }
  }
  return first;
}

}  // namespace

FilterResult bench_filter(FilterTask& task, const FilterRequest& request, BenchSession& session) {
  DeviceGuard guard(session.device());
  const RowContext context = session.row_context();
  FilterArena nchw(task, TensorLayout::kNchw), nhwc(task, TensorLayout::kNhwc);
  std::vector<Entry> entries;
  for (const ConvCandidate& candidate : request.candidates) {
    entries.push_back(
        prepare(candidate, candidate.layout == TensorLayout::kNhwc ? nhwc : nchw, request, session));
  }
  std::vector<Contender*> rivals;
  for (FilterArena* arena : {&nchw, &nhwc}) allocate(*arena, entries, request, session);
  for (const Entry& entry : entries) {
    if (entry.contender) rivals.push_back(entry.contender.get());
  }
  MeasureOptions options = session.measure_options();
  options.end_to_end = true;
  std::vector<Measurement> measurements = measure(rivals, session.stream(), options);
  FilterResult result;
  result.picture = compare_pictures(task, entries, measurements);
  const Conv2dProblem problem = task.problem(TensorLayout::kNchw);
  const Work work{problem.flops(), problem.bytes()};
  size_t next = 0;
  for (const Entry& entry : entries) {
    std::vector<ResultRow> rows = entry.contender
                                      ? rows_of(entry.base, measurements[next++], context, work, kMath,
                                                entry.contender->kernel().products_saved())
                                      : rows_without_time(entry.base, entry.status, entry.reason, context);
    result.rows.insert(result.rows.end(), rows.begin(), rows.end());
  }
  add_ratios_to_cudnn(result.rows);
  return result;
}

void filter_study_into(const std::vector<int>& sizes, const std::vector<int>& strides,
                       BenchSession& session) {
  session.begin(static_cast<int64_t>(sizes.size() * strides.size()), "study C");
  for (int size : sizes) {
    for (int stride : strides) {
      if (session.stopped()) return;
      FilterTask task(noise_picture(size, size, static_cast<uint64_t>(session.options().seed)),
                      find_filter("edge"), stride);
      FilterRequest request;
      for (ConvCandidate& candidate :
           registry_candidates(session.device().kind, {}, kMath, {TensorLayout::kNhwc})) {
        const ConvBackendEntry& row = find_conv_backend(session.device().kind, candidate.name);
        if (!row.supports(task.problem(TensorLayout::kNhwc), kMath)) candidate.layout = TensorLayout::kNchw;
        request.candidates.push_back(std::move(candidate));
      }
      request.study = "c";
      request.labels = {
          {"table", "filter"}, {"size", std::to_string(size)}, {"stride", std::to_string(stride)}};
      request.published = [size, stride](const ResultRow& row) {
        return published_filter(row.backend, size, stride);
      };
      request.repro = concat("convbench reproduce c --device ", session.device().to_string());
      std::vector<ResultRow> wanted;
      for (const ConvCandidate& candidate : request.candidates) {
        for (ResultRow& row : rows_without_time(base_row(task, request, candidate), "SKIPPED",
                                                "not measured yet", session.row_context())) {
          wanted.push_back(std::move(row));
        }
      }
      std::vector<ResultRow> rows = session.resumed(wanted);
      session.add(rows.empty() ? bench_filter(task, request, session).rows : std::move(rows));
    }
  }
}

}  // namespace lenslet
