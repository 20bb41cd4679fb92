#include "apps/convbench/bench/conv_contender.h"

#include "framework/statistics.h"

namespace lenslet {

ConvContender::ConvContender(std::string name, const ConvBackend& backend, MathMode math, ConvArena& arena,
                             size_t workspace_limit, Stream& stream, const std::string& choice)
    : name_(std::move(name)), arena_(arena), stream_(stream), services_(stream) {
  const double start = host_now_ns();
  kernel_ = backend.prepare({arena.problem(), math, arena.weights().data(), nullptr, false, workspace_limit,
                             services_, stream, choice});
  stream.synchronize();
  prepare_ns_ = host_now_ns() - start;
  workspace_bytes_ = kernel_->workspace_bytes();
  accuracy_ = accuracy_of(backend, *kernel_, arena.problem(), math);
}

void ConvContender::run(Stream& stream) {
  RunContext context{stream, workspace_bytes_ > 0 ? arena_.workspace() : nullptr, nullptr};
  kernel_->run({arena_.x(), arena_.y()}, context);
}

Verdict ConvContender::judge(int round, const std::vector<float>& output) {
  Verdict verdict = arena_.judge(round, output, accuracy_);
  if (const std::string damage = arena_.damage(stream_); verdict.passed && !damage.empty()) {
    verdict.passed = false;
    verdict.reason = damage;
  }
  return verdict;
}

}  // namespace lenslet
