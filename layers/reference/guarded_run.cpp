#include "layers/reference/guarded_run.h"

#include <algorithm>
#include <cstring>

#include "framework/base/integer_math.h"
#include "framework/tensor/poison.h"
#include "framework/tensor/stored_floats.h"
#include "layers/reference/guarded_memory.h"

namespace lenslet::reference {
namespace {

/// Operands in guarded memory, loaded anew for each run.
class Blocks {
 public:
  Blocks(Stream& stream, const GuardedOperands& operands)
      : stream_(stream),
        operands_(operands),
        skipped_(static_cast<size_t>(operands.shift) * sizeof(float)),
        output_(operands.inputs.size()),
        memory_(stream.device(), sizes(operands, skipped_)) {}

  GuardedPlaces places() const {
    GuardedPlaces places;
    for (size_t i = 0; i < output_; ++i) places.inputs.push_back(begin_of(i));
    places.output = begin_of(output_);
    places.workspace = memory_.block(output_ + 1);
    return places;
  }

  void load(int poison) {
    memory_.poison(poison, stream_);
    for (size_t i = 0; i <= output_ && skipped_ > 0; ++i)
      fill_bytes(memory_.block(i), device(), poison, skipped_, stream_);
    for (size_t i = 0; i < output_; ++i) upload(i, operands_.inputs[i].data, operands_.inputs[i].bytes);
    if (operands_.output_before != nullptr) upload(output_, operands_.output_before, operands_.output_bytes);
  }

  /// The output; `fault` gets the first fault outside it.
  std::vector<float> result(int poison, std::string& fault) {
    std::vector<float> y(ceil_div(static_cast<int64_t>(operands_.output_bytes), sizeof(float)), 0.0f);
    download(y.data(), begin_of(output_), operands_.output_bytes);
    fault = memory_.damage(poison, stream_);
    if (!fault.empty()) {
      fault += output_ == 1 ? std::string(" (blocks: 0 input, 1 output, 2 workspace)")
                            : concat(" (blocks: inputs, ", output_, " output, ", output_ + 1, " workspace)");
      return y;
    }
    std::vector<unsigned char> found;
    for (size_t i = 0; i <= output_; ++i) {
      found.resize(skipped_);
      download(found.data(), memory_.block(i), skipped_);
      const bool whole =
          std::all_of(found.begin(), found.end(), [&](unsigned char byte) { return byte == poison; });
      if (!whole) fault = i < output_ ? "changed its input" : "wrote before its output";
      if (i == output_ || !fault.empty()) break;
      found.resize(operands_.inputs[i].bytes);
      download(found.data(), begin_of(i), found.size());
      if (std::memcmp(found.data(), operands_.inputs[i].data, found.size()) != 0) fault = "changed its input";
    }
    return y;
  }

 private:
  static std::vector<size_t> sizes(const GuardedOperands& operands, size_t skipped) {
    std::vector<size_t> sizes;
    for (const HostBytes& input : operands.inputs) sizes.push_back(skipped + input.bytes);
    sizes.push_back(skipped + operands.output_bytes);
    sizes.push_back(operands.workspace_bytes);
    return sizes;
  }
  Device device() const { return stream_.device(); }
  float* begin_of(size_t block) const { return static_cast<float*>(memory_.block(block)) + operands_.shift; }
  void upload(size_t block, const void* host, size_t bytes) {
    copy_bytes(begin_of(block), device(), host, Device::cpu(), bytes, stream_);
    stream_.synchronise();
  }
  void download(void* host, const void* from, size_t bytes) {
    if (bytes == 0) return;
    copy_bytes(host, Device::cpu(), from, device(), bytes, stream_);
    stream_.synchronise();
  }

  Stream& stream_;
  const GuardedOperands& operands_;
  size_t skipped_, output_;  // bytes before an operand; the output's block
  GuardedMemory memory_;
};

/// The elements of an output as fp32. Those of types other than fp16 and bf16 are returned unchanged.
std::vector<float> numbers_of(const GuardedOperands& operands, const std::vector<float>& output) {
  if (operands.output_type.bits() != 16) return output;
  std::vector<float> numbers(operands.output_bytes / 2);
  load_floats(operands.output_type, output.data(), static_cast<int64_t>(numbers.size()), numbers.data());
  return numbers;
}

}  // namespace

GuardedRun run_guarded(Stream& stream, const GuardedOperands& operands,
                       const std::function<void(const GuardedPlaces&)>& enqueue) {
  Blocks blocks(stream, operands);
  const GuardedPlaces places = blocks.places();
  GuardedRun run;
  std::vector<float> first;
  // The second run starts from other values in output, workspace and canaries: a difference means that some were used.
  for (const int poison : {kNanByte, kMarkByte}) {
    blocks.load(poison);
    enqueue(places);
    stream.synchronise();
    run.output = blocks.result(poison, run.fault);
    if (!run.fault.empty()) return run;
    if (poison == kNanByte) first.swap(run.output);
  }
  if (std::memcmp(first.data(), run.output.data(), first.size() * sizeof(float)) == 0) return run;
  const std::vector<float> before = numbers_of(operands, first), after = numbers_of(operands, run.output);
  size_t i = 0;
  while (i + 1 < before.size() && std::memcmp(&before[i], &after[i], sizeof(float)) == 0) ++i;
  run.fault = concat("two runs differ at ", i, ": ", before[i], " and ", after[i]);
  return run;
}

GuardedRun run_guarded(Stream& stream, Operator& op, std::vector<ConstTensorView> inputs,
                       const std::vector<const void*>& x, TensorView output, int64_t shift) {
  GuardedOperands operands;
  for (size_t i = 0; i < inputs.size(); ++i) operands.inputs.push_back({x.at(i), inputs[i].bytes()});
  operands.output_bytes = output.bytes();
  operands.workspace_bytes = op.workspace_bytes();
  operands.shift = shift;
  return run_guarded(stream, operands, [&](const GuardedPlaces& places) {
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].data = places.inputs[i];
    output.data = places.output;
    RunContext context{stream, places.workspace, nullptr};
    op.run(inputs, output, context);
  });
}

GuardedRun run_guarded(Stream& stream, Operator& op, ConstTensorView input, const void* x, TensorView output,
                       int64_t shift) {
  return run_guarded(stream, op, std::vector<ConstTensorView>{input}, {x}, output, shift);
}

}  // namespace lenslet::reference
