// ModelProto: graph 7. GraphProto: node 1, initializer 5. NodeProto: attribute 5. AttributeProto: t 5. TensorProto:
// float_data 4, raw_data 9.

#include "models/onnx/read/structure.h"

#include <algorithm>
#include <array>
#include <optional>

#include "framework/base/error.h"
#include "framework/base/text.h"

namespace lenslet::onnx {
namespace {

enum class Kind { kModel, kGraph, kNode, kAttribute, kTensor };
constexpr uint32_t kTensorFloatData = 4, kTensorRawData = 9;

// The messages on the way to tensors. A graph inside an attribute is copied whole.
std::optional<Kind> message_in(Kind kind, uint32_t field) {
  if (kind == Kind::kModel && field == 7) return Kind::kGraph;
  if (kind == Kind::kGraph && field == 1) return Kind::kNode;
  if (kind == Kind::kGraph && field == 5) return Kind::kTensor;
  if (kind == Kind::kNode && field == 5) return Kind::kAttribute;
  if (kind == Kind::kAttribute && field == 5) return Kind::kTensor;
  return std::nullopt;
}

class Walker {
 public:
  Walker(const std::shared_ptr<const ByteSource>& file, const std::string& origin)
      : file_(file), origin_(origin), size_(file->size()) {}

  Structure structure() {
    Structure structure;
    structure.damaged = !walk(Kind::kModel, 0, size_);
    structure.bytes = std::move(bytes_);
    for (const auto& [position, part] : left_out_)
      structure.left_out[reinterpret_cast<const char*>(structure.bytes.data()) + position] = part;
    return structure;
  }

 private:
  // Varints have at most ten bytes; a message's length is written anew in five, whatever it becomes.
  static constexpr size_t kMaxVarint = 10, kWrittenLength = 5;
  static constexpr uint64_t kMaxHead = 2 * kMaxVarint;

  // False where a field does not fit; what stands there is copied, so that the parser finds the same fault.
  bool walk(Kind kind, uint64_t begin, uint64_t end) {
    for (uint64_t at = begin; at < end;) {
      uint64_t next = at, key = 0, length = 0;
      if (!read_varint(next, end, key)) return stop(at, end);
      const uint64_t after_key = next;
      const auto field = static_cast<uint32_t>(key) >> 3;
      bool fits = field != 0, has_bytes = false;
      switch (key & 7) {
        case 0:
          fits = fits && read_varint(next, end, length);
          break;
        case 1:
          next += 8;
          break;
        case 2:
          has_bytes = true;
          fits = fits && read_varint(next, end, length) && length <= end - next;
          break;
        case 5:
          next += 4;
          break;
        default:
          fits = false;
      }
      if (!fits || next > end) return stop(at, end);
      const uint64_t contents = next;
      if (has_bytes) next += length;
      // A short message has no values that are left out: its copy is judged by the parser alone.
      const std::optional<Kind> inner =
          has_bytes && length > kMaxKept ? message_in(kind, field) : std::nullopt;
      if (inner) {
        copy(at, after_key);
        const size_t length_at = bytes_.size();
        bytes_.resize(length_at + kWrittenLength);
        const bool whole = walk(*inner, contents, next);
        write_length(length_at, bytes_.size() - length_at - kWrittenLength);
        if (!whole) return false;
      } else if (has_bytes && kind == Kind::kTensor && length > kMaxKept &&
                 (field == kTensorRawData || field == kTensorFloatData)) {
        copy(at, after_key);
        bytes_.push_back(0);
        left_out_.emplace_back(bytes_.size(), FilePart{file_, contents, length});
      } else {
        copy(at, next);
      }
      at = next;
    }
    return true;
  }

  bool stop(uint64_t at, uint64_t end) {
    copy(at, std::min(end, at + kMaxHead));
    return false;
  }

  void write_length(size_t at, size_t length) {
    for (size_t i = 0; i < kWrittenLength; ++i, length >>= 7)
      bytes_[at + i] = static_cast<uint8_t>((length & 127) | (i + 1 < kWrittenLength ? 128 : 0));
  }

  void copy(uint64_t begin, uint64_t end) {
    const auto count = static_cast<size_t>(end - begin);
    if (end - begin > kMaxStructureBytes - bytes_.size())
      throw DataError(concat(origin_, ": more than ", kMaxStructureBytes,
                             " bytes besides the raw values of its tensors; not an ONNX model, or damaged"));
    bytes_.resize(bytes_.size() + count);
    uint8_t* const to = bytes_.data() + bytes_.size() - count;
    if (count > window_.size())
      file_->read(begin, to, count);
    else
      std::copy_n(window(begin, count), count, to);
  }

  // `count` bytes of the file from `begin` on; count is at most the size of the window.
  const uint8_t* window(uint64_t begin, size_t count) {
    if (begin < window_begin_ || begin + count > window_begin_ + window_bytes_) {
      window_begin_ = begin;
      window_bytes_ = static_cast<size_t>(std::min<uint64_t>(window_.size(), size_ - begin));
      file_->read(begin, window_.data(), window_bytes_);
    }
    return window_.data() + (begin - window_begin_);
  }

  bool read_varint(uint64_t& at, uint64_t end, uint64_t& value) {
    value = 0;
    for (size_t i = 0; i < kMaxVarint && at < end; ++i) {
      const uint8_t byte = *window(at++, 1);
      value |= static_cast<uint64_t>(byte & 127) << (7 * i);
      if (byte < 128) return true;
    }
    return false;
  }

  const std::shared_ptr<const ByteSource>& file_;
  const std::string& origin_;
  const uint64_t size_;
  std::vector<uint8_t> bytes_;
  std::vector<std::pair<size_t, FilePart>> left_out_;  // by position in bytes_
  std::array<uint8_t, 1 << 14> window_{};
  uint64_t window_begin_ = 0;
  size_t window_bytes_ = 0;
};

}  // namespace

Structure read_structure(const std::shared_ptr<const ByteSource>& file, const std::string& origin) {
  return Walker(file, origin).structure();
}

}  // namespace lenslet::onnx
