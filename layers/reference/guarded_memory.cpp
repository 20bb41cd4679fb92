#include "layers/reference/guarded_memory.h"

#include <algorithm>

#include "framework/base/error.h"
#include "framework/base/integer_math.h"
#include "framework/base/settings.h"
#include "framework/device/runtime.h"

namespace lenslet::reference {

namespace {

// With LENSLET_UNPOISONED=1 blocks stay uninitialised: a tool that detects reads of uninitialised memory (initcheck)
// would count the fill as initialisation.
bool blocks_are_poisoned() {
  static const bool poisoned = !switch_setting("LENSLET_UNPOISONED");
  return poisoned;
}

}  // namespace

GuardedMemory::GuardedMemory(Device device, const std::vector<size_t>& block_bytes)
    : device_(device), sizes_(block_bytes), poisoned_(blocks_are_poisoned()) {
  total_ = kCanaryBytes;
  for (size_t bytes : sizes_) {
    offsets_.push_back(total_);
    total_ = align_up(total_ + bytes + kCanaryBytes, Buffer::kAlignment);
  }
  memory_ = Buffer(device_, total_);
}

void* GuardedMemory::block(size_t index) const noexcept {
  return memory_.as<unsigned char>() + offsets_[index];
}

void GuardedMemory::poison(int byte, Stream& stream) {
  if (poisoned_) {
    fill_bytes(memory_.data(), device_, byte, total_, stream);
    if (!device_.is_cuda()) return;
    const DeviceGuard guard(device_);
    runtime::fill_shared_async(byte, stream.native_handle());
    return;
  }
  for (size_t i = 0, begin = 0; i <= sizes_.size(); ++i) {
    const size_t end = i < sizes_.size() ? offsets_[i] : total_;
    fill_bytes(memory_.as<unsigned char>() + begin, device_, byte, end - begin, stream);
    if (i < sizes_.size()) begin = end + sizes_[i];
  }
}

void GuardedMemory::upload(size_t index, const void* host, Stream& stream) {
  copy_bytes(block(index), device_, host, Device::cpu(), sizes_[index], stream);
}

void GuardedMemory::download(size_t index, void* host, Stream& stream) const {
  copy_bytes(host, Device::cpu(), block(index), device_, sizes_[index], stream);
  stream.synchronise();
}

std::string GuardedMemory::damage(int byte, Stream& stream) const {
  // Only the canaries are copied: blocks can be large.
  std::vector<unsigned char> canary;
  size_t begin = 0;
  for (size_t i = 0; i <= sizes_.size(); ++i) {
    const size_t end = i < sizes_.size() ? offsets_[i] : total_;
    canary.resize(end - begin);
    copy_bytes(canary.data(), Device::cpu(), memory_.as<unsigned char>() + begin, device_, canary.size(),
               stream);
    stream.synchronise();
    const auto changed =
        std::find_if(canary.begin(), canary.end(), [byte](unsigned char found) { return found != byte; });
    if (changed != canary.end()) {
      const auto offset = static_cast<size_t>(changed - canary.begin());
      if (i == 0) return concat("wrote before block 0, ", canary.size() - offset, " bytes ahead of it");
      return concat("wrote past the end of block ", i - 1, ", ", offset, " bytes after it");
    }
    if (i < sizes_.size()) begin = offsets_[i] + sizes_[i];
  }
  return {};
}

}  // namespace lenslet::reference
