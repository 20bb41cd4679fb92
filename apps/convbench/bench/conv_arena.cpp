#include "apps/convbench/bench/conv_arena.h"

#include <algorithm>

#include "apps/convbench/session/reference_cost.h"
#include "apps/measuring/verdict.h"
#include "framework/base/error.h"
#include "framework/tensor/poison.h"
#include "framework/tensor/stored_floats.h"

namespace lenslet {
namespace {

using reference::GuardedMemory;

// Multiply-adds of the reference for pooled outputs, which are judged once: about a millisecond of one thread. Chosen
// by hand; deep problems take judged_macs().
constexpr int64_t kPooledMacs = int64_t{1} << 20;

// Limit for input plus output: page-locking more would take seconds, so larger problems are timed without copies.
constexpr size_t kMaxCopied = size_t{4} << 30;

// Input, output and, for most backends, the workspace grow with the batch.
std::string largest_batch(const Conv2dProblem& problem, size_t needed, size_t free) {
  const double share = static_cast<double>(free) / static_cast<double>(needed);
  const auto fits = static_cast<int64_t>(static_cast<double>(problem.n) * share);
  return fits > 0 ? concat("the largest batch that fits is about mb", fits) : "no batch fits, not even mb1";
}

}  // namespace

void ConvArena::check_memory(const Conv2dProblem& problem, Device device, size_t workspace_bytes) {
  const size_t x_bytes = problem.bytes_of_tensor(problem.input_shape());
  const size_t y_bytes = problem.bytes_of_tensor(problem.output_shape());
  const size_t w_bytes = problem.bytes_of_tensor(problem.weight_shape());
  const size_t needed = x_bytes + w_bytes + y_bytes + workspace_bytes + 4 * GuardedMemory::kCanaryBytes;
  const size_t free = free_memory_bytes(device);
  if (needed <= free) return;
  throw MemoryError(concat(problem.to_string(), " needs ", needed, " bytes on ", device.to_string(),
                           " (input ", x_bytes, ", weights ", w_bytes, ", output ", y_bytes, ", workspace ",
                           workspace_bytes, "), ", free, " are free; ", largest_batch(problem, needed, free),
                           "; or use a smaller image, or --workspace-limit"));
}

void ConvArena::allocate(Device device, size_t workspace_bytes, bool end_to_end) {
  check_memory(problem_, device, workspace_bytes);
  const size_t x_bytes = problem_.bytes_of_tensor(problem_.input_shape());
  const size_t y_bytes = problem_.bytes_of_tensor(problem_.output_shape());
  memory_.emplace(device, std::vector<size_t>{x_bytes, y_bytes, workspace_bytes});
  if (!end_to_end || !device.is_cuda() || x_bytes + y_bytes > kMaxCopied) return;
  host_x_.emplace(device, x_bytes);
  host_y_.emplace(device, y_bytes);
}

void ConvArena::load(int round, Stream& stream) {
  if (loaded_ == round) {
    if (memory_->block_bytes(kWorkspace) > 0)
      fill_bytes(workspace(), stream.device(), byte_, memory_->block_bytes(kWorkspace), stream);
    return;
  }
  byte_ = round % 2 == 0 ? kNanByte : kMarkByte;
  const std::vector<float>& values = input(round);
  memory_->poison(byte_, stream);
  if (problem_.type == ElementType::kFp32) {
    memory_->upload(kInput, values.data(), stream);
  } else {
    const std::vector<float> x =
        stored_floats(problem_.type, values.data(), static_cast<int64_t>(values.size()));
    memory_->upload(kInput, x.data(), stream);
  }
  if (host_x_)
    store_floats(problem_.type, values.data(), static_cast<int64_t>(values.size()), host_x_->data());
  stream.synchronise();
  loaded_ = round;
}

void ConvArena::poison(Stream& stream) {
  byte_ = kNanByte;
  memory_->poison(byte_, stream);
  loaded_ = -1;
}

std::string ConvArena::damage(Stream& stream) {
  std::string found = memory_->damage(byte_, stream);
  if (found.empty()) return found;
  loaded_ = -1;  // the next candidate gets intact canaries
  return found + " (blocks: 0 input, 1 output, 2 workspace)";
}

void ConvArena::copy_in(Stream& stream) {
  copy_bytes(memory_->block(kInput), stream.device(), host_x_->data(), Device::cpu(), host_x_->bytes(),
             stream);
}

void ConvArena::copy_out(Stream& stream) {
  copy_bytes(host_y_->data(), Device::cpu(), y(), stream.device(), host_y_->bytes(), stream);
}

std::string ConvEpilogue::name() const {
  std::string text;
  for (const auto& [there, what] :
       {std::pair{bias, "bias"}, std::pair{relu, "ReLU"}, std::pair{max_pool.has_value(), "max pooling"}}) {
    if (there) text += concat(text.empty() ? "with " : ", ", what);
  }
  return text;
}

ReferenceArena::ReferenceArena(const Conv2dProblem& problem, reference::Fill fill, uint64_t seed)
    : ConvArena(problem),
      seed_(seed),
      fill_(fill),
      judge_(problem, fill, seed * 1000, max_reference_macs(problem)) {}

const ConvCase& ReferenceArena::data(int round) {
  const auto index = static_cast<size_t>(round);
  if (cases_.size() <= index) cases_.resize(index + 1);
  if (!cases_[index]) cases_[index] = judge_.make_case(seed_of(round));
  return *cases_[index];
}

Verdict ReferenceArena::judge(int round, const std::vector<float>& output, const ConvAccuracy& accuracy,
                              const ConvEpilogue& epilogue) {
  Verdict verdict;
  verdict.reason = judge_.size_error();
  if (!verdict.reason.empty()) return verdict;
  if (!epilogue.max_pool)
    return verdict_of(judge_.compare(data(round), output, accuracy, epilogue.bias, epilogue.relu));
  // The same seed gives the same weights.
  const ConvJudge pooled(problem(), fill_, seed_ * 1000, kPooledMacs, epilogue.max_pool);
  return verdict_of(pooled.compare(pooled.case_of(data(round).x, seed_of(round)), output, accuracy,
                                   epilogue.bias, epilogue.relu));
}

}  // namespace lenslet
