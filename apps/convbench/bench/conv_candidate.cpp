#include "apps/convbench/bench/conv_candidate.h"

#include <algorithm>

#include "framework/base/clock.h"

namespace lenslet {

ConvCandidate::ConvCandidate(std::string name, const ConvBackend& backend, MathMode math, ConvArena& arena,
                             size_t workspace_limit, Stream& stream, const std::string& choice,
                             const ConvEpilogue& epilogue)
    : name_(std::move(name)),
      backend_(backend),
      math_(math),
      arena_(arena),
      epilogue_(epilogue),
      workspace_limit_(workspace_limit),
      stream_(stream),
      services_(stream) {
  const Conv2dProblem& problem = arena.problem();
  const Shape output = problem.output_shape();
  output_count_ = static_cast<size_t>(output.num_elements());
  if (const auto& window = epilogue.max_pool) {
    output_count_ = static_cast<size_t>(int64_t{problem.n} * problem.k * window->rows(problem.p()) *
                                        window->columns(problem.q()));
  }
  const double start = host_now_ns();
  kernel_ = backend.prepare({problem, math, arena.weights().data(), epilogue.bias ? arena.bias() : nullptr,
                             epilogue.relu, workspace_limit, services_, stream, choice, epilogue.max_pool});
  stream.synchronise();
  prepare_ns_ = host_now_ns() - start;
  workspace_bytes_ = kernel_->workspace_bytes();
  accuracy_ = accuracy_of(backend, *kernel_, problem, math);
}

void ConvCandidate::prepare_epilogues() {
  if (arena_.bias() == nullptr) return;
  const Pool2dWindow window = Pool2dWindow::square(2, 2);
  const bool relu = backend_.fuses_rectifier(Rectifier(true));
  std::vector<ConvEpilogue> epilogues = {{true, relu, {}}};
  if (backend_.fuses_max_pool(arena_.problem(), math_, window)) epilogues.push_back({true, relu, window});
  for (const ConvEpilogue& epilogue : epilogues) {
    epilogues_.push_back(std::make_unique<ConvCandidate>(
        epilogue.name(), backend_, math_, arena_, workspace_limit_, stream_, kernel_->choice(), epilogue));
  }
}

std::vector<Candidate*> ConvCandidate::epilogues() {
  std::vector<Candidate*> epilogues;
  for (const auto& epilogue : epilogues_) epilogues.push_back(epilogue.get());
  return epilogues;
}

size_t ConvCandidate::max_workspace_bytes() const noexcept {
  size_t max_bytes = workspace_bytes_;
  for (const auto& epilogue : epilogues_) max_bytes = std::max(max_bytes, epilogue->workspace_bytes_);
  return max_bytes;
}

void ConvCandidate::describe(ResultRow& row) const {
  row.detail = kernel_->detail();
  row.launches = kernel_->launches();
  row.setup_ns = prepare_ns_;
  row.workspace_bytes = static_cast<int64_t>(workspace_bytes_);
}

void ConvCandidate::run(Stream& stream) {
  RunContext context{stream, workspace_bytes_ > 0 ? arena_.workspace() : nullptr, nullptr};
  kernel_->convolve({arena_.x(), arena_.y()}, context);
}

Verdict ConvCandidate::judge(int round, const std::vector<float>& output) {
  Verdict verdict = arena_.judge(round, output, accuracy_, epilogue_);
  if (const std::string damage = arena_.damage(stream_); verdict.passed && !damage.empty()) {
    verdict.passed = false;
    verdict.reason = damage;
  }
  return verdict;
}

}  // namespace lenslet
