#include "framework/io/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <climits>

#include "framework/base/error.h"

namespace lenslet {
namespace {

// Room for a small file at once; larger outputs double theirs.
constexpr size_t kGrowth = 1 << 16;
// Ninety times MNIST's training images: bounds the memory that a header can claim.
constexpr size_t kMaxSize = size_t{4} << 30;
constexpr int kGzipOrZlib = 15 + 32;  // inflateInit2: the largest window, header recognised by its bytes

class Inflater {
 public:
  Inflater(const std::vector<uint8_t>& bytes, const std::string& origin) : bytes_(bytes), origin_(origin) {
    if (inflateInit2(&stream_, kGzipOrZlib) != Z_OK)
      throw MemoryError(concat(origin, ": out of memory while starting zlib"));
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends to `out` until it holds `size` bytes or the stream ends.
  void fill(std::vector<uint8_t>& out, size_t size) {
    while (out.size() < size && !ended_) {
      const size_t old_size = out.size();
      // Grows with the data, not with the size stated in the header.
      out.resize(std::min(size, old_size + std::max(old_size, kGrowth)));
      const size_t got = read(out.data() + old_size, out.size() - old_size);
      out.resize(old_size + got);
      if (got == 0 && !ended_ && consumed_ == bytes_.size()) break;
    }
  }
  bool ended() const { return ended_; }
  size_t consumed() const { return consumed_; }

 private:
  size_t read(uint8_t* out, size_t size) {
    size_t written = 0;
    while (!ended_) {
      const auto in_step = static_cast<uInt>(std::min<size_t>(bytes_.size() - consumed_, UINT_MAX));
      const auto out_step = static_cast<uInt>(std::min<size_t>(size - written, UINT_MAX));
      stream_.next_in = const_cast<Bytef*>(bytes_.data() + consumed_);
      stream_.avail_in = in_step;
      stream_.next_out = out + written;
      stream_.avail_out = out_step;
      const int result = inflate(&stream_, Z_NO_FLUSH);
      consumed_ += in_step - stream_.avail_in;
      written += out_step - stream_.avail_out;
      if (result == Z_STREAM_END) {
        ended_ = true;
      } else if (result == Z_DATA_ERROR) {
        const std::string what = stream_.msg ? stream_.msg : "invalid data";
        if (what == "incorrect data check" || what == "incorrect length check") {
          throw DataError(concat(origin_, ": damaged: the gzip checksum does not match (", what,
                                 "); get the file again"));
        }
        throw DataError(concat(origin_, ": damaged: invalid gzip data at byte ", consumed_, " (", what,
                               "); get the file again"));
      } else if (result == Z_MEM_ERROR) {
        throw MemoryError(concat(origin_, ": out of memory while decompressing"));
      } else if (result == Z_NEED_DICT) {
        throw DataError(concat(origin_, ": expected gzip data, found zlib data with a preset dictionary"));
      } else if (result == Z_BUF_ERROR || written == size) {
        break;  // no more input, or no more room
      }
    }
    return written;
  }

  const std::vector<uint8_t>& bytes_;
  const std::string& origin_;
  z_stream stream_{};
  size_t consumed_ = 0;
  bool ended_ = false;
};

}  // namespace

bool is_gzip(const std::vector<uint8_t>& bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

std::vector<uint8_t> gunzip(const std::vector<uint8_t>& bytes, const std::string& origin, size_t head_bytes,
                            const StatedSize& stated_size) {
  Inflater inflater(bytes, origin);
  std::vector<uint8_t> out;
  inflater.fill(out, head_bytes);
  if (out.size() < head_bytes && !inflater.ended()) {
    throw DataError(concat(origin, ": gzip data truncated: the file ends within the first ", head_bytes,
                           " decompressed bytes; get the file again"));
  }
  const GzipSize sizes = stated_size(out.data(), out.size());
  const size_t size = sizes.stated;
  if (size > kMaxSize) {
    throw DataError(concat(origin, ": the header within the gzip data states ", size,
                           " bytes, expected at most ", kMaxSize));
  }
  size_t max_inflated = 0;  // deflate expands 1032 times at most
  if (__builtin_mul_overflow(bytes.size(), size_t{1032}, &max_inflated)) max_inflated = size;
  const size_t room = sizes.needed < size ? std::max(sizes.needed, out.size()) : size + 1;
  out.reserve(std::min(room, std::max(kGrowth, max_inflated)));
  inflater.fill(out, room);
  if (sizes.needed < size && out.size() >= sizes.needed) {
    out.resize(sizes.needed);
    return out;
  }
  if (out.size() > size) {
    throw DataError(
        concat(origin, ": the gzip data hold more than the ", size, " bytes that the header states"));
  }
  if (!inflater.ended()) {
    throw DataError(concat(origin, ": gzip data truncated: ", out.size(), " of ", size, " bytes",
                           out.size() == size ? ", the checksum at the end is cut off" : "",
                           "; get the file again"));
  }
  const size_t rest = bytes.size() - inflater.consumed();
  if (rest > 0) {
    const bool member =
        rest >= 2 && bytes[inflater.consumed()] == 0x1f && bytes[inflater.consumed() + 1] == 0x8b;
    throw DataError(concat(origin, ": expected the end of the file after the gzip data, found ", rest,
                           member ? " bytes of a second gzip member" : " more bytes"));
  }
  return out;
}

}  // namespace lenslet
