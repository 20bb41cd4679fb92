// StudyTask: one case of a study: the memory, inputs and fp64 reference that its candidates share.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "apps/measuring/candidate.h"
#include "layers/reference/fill.h"
#include "layers/reference/guarded_memory.h"

namespace lenslet {

class StudyTask {
 public:
  StudyTask(reference::Fill fill, uint64_t seed) : fill_(fill), seed_(seed) {}
  virtual ~StudyTask() = default;
  StudyTask(const StudyTask&) = delete;
  StudyTask& operator=(const StudyTask&) = delete;

  /// Loads input number `round`, unless it is loaded, and poisons the output. Synchronises.
  void load(int round, Stream& stream);
  float* output() const { return block(kOutput); }
  virtual size_t output_count() const = 0;
  /// Judges a host copy of the output for the input loaded last: the elements that answers() returns. Every value must
  /// be a number, and nothing may be written outside the output.
  Verdict judge(int round, const std::vector<float>& output, Stream& stream, int answer = 0);

 protected:
  static constexpr size_t kOutput = 2;  // index of the output's block

  /// The expected value of one output in fp64, and its error bound.
  struct Expected {
    int64_t index = 0;
    double value = 0, bound = 0;
  };
  struct Block {
    const char* name;
    size_t bytes;
  };

  /// Uploads input number `round` and poisons. If fresh(), every block must be filled: none is yet, or one is damaged.
  virtual void fill(int round, Stream& stream) = 0;
  /// The judged outputs for the input loaded last. `answer` selects one of several answers of a task. Called once per
  /// input and answer.
  virtual std::vector<Expected> answers(int answer) const = 0;

  /// Throws MemoryError with the bytes needed and free. The message begins with `what`.
  void allocate(Device device, const std::string& what, std::vector<Block> blocks);
  float* block(size_t index) const { return static_cast<float*>(memory_->block(index)); }
  size_t block_bytes(size_t index) const { return blocks_[index].bytes; }
  void upload(size_t index, const std::vector<float>& values, Stream& stream);
  /// Fills all blocks and canaries with that byte.
  void poison(int byte, Stream& stream);
  bool fresh() const noexcept { return loaded_ < 0; }
  uint64_t seed() const noexcept { return seed_; }
  std::vector<float> values(size_t count, uint64_t seed) const;
  /// A sum of `terms` products; `magnitude` is the sum of their absolute values.
  Expected sum(size_t index, double value, double magnitude, int terms) const;

 private:
  reference::Fill fill_;
  uint64_t seed_;
  std::vector<Block> blocks_;
  std::optional<reference::GuardedMemory> memory_;
  std::map<std::pair<int, int>, std::vector<Expected>> answers_;  // by input and answer
  int loaded_ = -1, byte_ = 0;
};

/// One way of computing the output of a task. The task must have memory before the candidate runs.
class TaskCandidate : public Candidate {
 public:
  using Step = std::function<void(Stream&)>;
  /// `run` enqueues. `after_load` may be empty; it uploads what only this candidate needs.
  TaskCandidate(std::string name, StudyTask& task, Stream& stream, Step run, Step after_load = {},
                int answer = 0)
      : name_(std::move(name)),
        task_(task),
        stream_(stream),
        run_(std::move(run)),
        after_load_(std::move(after_load)),
        answer_(answer) {}

  std::string name() const override { return name_; }
  void load(int round, Stream& stream) override {
    task_.load(round, stream);
    if (after_load_) after_load_(stream);
    stream.synchronise();
  }
  void run(Stream& stream) override { run_(stream); }
  float* output() override { return task_.output(); }
  size_t output_count() const override { return task_.output_count(); }
  Verdict judge(int round, const std::vector<float>& output) override {
    return task_.judge(round, output, stream_, answer_);
  }

 private:
  std::string name_;
  StudyTask& task_;
  Stream& stream_;
  Step run_, after_load_;
  int answer_;
};

}  // namespace lenslet
