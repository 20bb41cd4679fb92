// Formats: NumPy's NEP 1 (.npy, versions 1 to 3); APPNOTE.TXT of PKWARE, sections 4.3 and 4.4 (ZIP). Sizes come from
// the central directory, which Python writes last and with the true numbers.
#include "framework/io/npz.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "framework/base/error.h"
#include "framework/base/joined_numbers.h"
#include "framework/base/text.h"
#include "framework/tensor/float_formats.h"

namespace lenslet {
namespace {

// A network with an array for every value of its nodes has hundreds; NumPy's arrays have at most 32 dimensions (64 from
// version 2 on).
constexpr size_t kMaxMembers = 4096, kMaxRank = 32;
constexpr size_t kMaxHeader = 1 << 16;  // bytes before an array's values; NumPy's own limit is 10,000

uint64_t number(const uint8_t* at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | at[i];
  return value;
}

// The words of a header dictionary, as numpy writes it: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class Header {
 public:
  Header(std::string text, const std::string& origin) : text_(std::move(text)), origin_(origin) {}

  /// The text of the value of `key`, up to `end`.
  std::string member(const std::string& key, char end) const {
    const std::string quoted = concat("'", key, "':");
    const size_t at = text_.find(quoted);
    if (at == std::string::npos || text_.find(quoted, at + 1) != std::string::npos) throw damaged();
    const size_t begin = text_.find_first_not_of(' ', at + quoted.size());
    const size_t last = begin == std::string::npos ? begin : text_.find(end, begin);
    if (last == std::string::npos) throw damaged();
    return text_.substr(begin, last - begin + (end == ')' ? 1 : 0));
  }
  DataError damaged() const {
    return DataError(concat(origin_, ": its .npy header is damaged: ", printable_excerpt(text_, 80)));
  }

 private:
  std::string text_;
  const std::string& origin_;
};

std::vector<int64_t> dims_of(const Header& header) {
  const std::string shape = header.member("shape", ')');
  if (shape.size() < 2 || shape.front() != '(') throw header.damaged();
  std::vector<int64_t> dims;
  int64_t value = -1;
  for (size_t i = 1; i < shape.size(); ++i) {
    const char c = shape[i];
    if (c >= '0' && c <= '9') {
      value = std::max<int64_t>(value, 0) * 10 + (c - '0');
      if (value > int64_t{1} << 40) throw header.damaged();
    } else if (c == ',' || c == ')') {
      if (value >= 0) dims.push_back(value);
      value = -1;
    } else if (c != ' ') {
      throw header.damaged();
    }
  }
  if (dims.size() > kMaxRank) throw header.damaged();
  return dims;
}

/// A member of an archive, by its entry in the central directory.
struct Member {
  std::string name;
  uint64_t method = 0, flags = 0, crc = 0, stored = 0, size = 0, offset = 0;
};

/// The first `max_bytes` decompressed bytes of a member, or all if it has fewer.
std::vector<uint8_t> inflated(const uint8_t* from, const Member& member, size_t max_bytes,
                              const std::string& where) {
  std::vector<uint8_t> out(std::min<size_t>(member.size, max_bytes));
  z_stream stream{};
  if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw MemoryError(concat(where, ": out of memory"));
  stream.next_in = const_cast<Bytef*>(from);
  stream.avail_in = static_cast<uInt>(member.stored);
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  const bool all = out.size() == member.size;
  const int result = ::inflate(&stream, all ? Z_FINISH : Z_SYNC_FLUSH);
  const bool right =
      stream.avail_out == 0 && (all ? result == Z_STREAM_END && stream.avail_in == 0 : result == Z_OK);
  ::inflateEnd(&stream);
  if (!right) throw DataError(concat(where, ": its compressed data are damaged; get the file again"));
  return out;
}

std::vector<Member> members_of(const std::vector<uint8_t>& bytes, const std::string& origin) {
  constexpr size_t kEnd = 22, kEntry = 46, kComment = 65535;
  const auto damaged = [&](const char* what) {
    return DataError(concat(origin, ": ", what, "; get the file again"));
  };
  if (bytes.size() < kEnd) throw damaged("it is no ZIP archive (.npz), or truncated");
  size_t end = bytes.size() - kEnd;
  const size_t min_end = end > kComment ? end - kComment : 0;
  while (number(&bytes[end], 4) != 0x06054b50 && end > min_end) --end;
  if (number(&bytes[end], 4) != 0x06054b50) throw damaged("it is no ZIP archive (.npz), or truncated");
  const uint64_t count = number(&bytes[end + 10], 2), size = number(&bytes[end + 12], 4);
  size_t at = number(&bytes[end + 16], 4);
  if (number(&bytes[end + 4], 2) != 0 || number(&bytes[end + 8], 2) != count || count > kMaxMembers ||
      at > end || size != end - at) {
    throw DataError(concat(origin, ": an archive of several parts, of more than ", kMaxMembers,
                           " members or of more than 4 GiB is not supported, or it is damaged"));
  }
  std::vector<Member> members;
  for (uint64_t i = 0; i < count; ++i) {
    if (end - at < kEntry || number(&bytes[at], 4) != 0x02014b50) throw damaged("its directory is damaged");
    const uint8_t* const entry = &bytes[at];
    Member member;
    member.flags = number(entry + 8, 2);
    member.method = number(entry + 10, 2);
    member.crc = number(entry + 16, 4);
    member.stored = number(entry + 20, 4);
    member.size = number(entry + 24, 4);
    member.offset = number(entry + 42, 4);
    const uint64_t name = number(entry + 28, 2);
    const uint64_t rest = name + number(entry + 30, 2) + number(entry + 32, 2);
    if (end - at - kEntry < rest) throw damaged("its directory is damaged");
    member.name.assign(reinterpret_cast<const char*>(entry + kEntry), name);
    at += kEntry + rest;
    members.push_back(std::move(member));
  }
  return members;
}

/// The first `max_bytes` bytes of a member, or all if it has fewer. Checks the checksum if these are all.
std::vector<uint8_t> bytes_of(const std::vector<uint8_t>& bytes, const Member& member, size_t max_bytes,
                              const std::string& where) {
  constexpr size_t kLocal = 30, kExpansion = 1032;  // deflate expands that much at most
  const auto damaged = [&](const char* what) { return DataError(concat(where, ": ", what)); };
  if ((member.flags & 1) != 0) throw damaged("it is encrypted");
  if (member.method != 0 && member.method != 8)
    throw damaged("it is compressed by another method than deflate");
  if (member.offset > bytes.size() || bytes.size() - member.offset < kLocal ||
      number(&bytes[member.offset], 4) != 0x04034b50)
    throw damaged("the archive is damaged; get the file again");
  const uint8_t* const local = &bytes[member.offset];
  const uint64_t begin = member.offset + kLocal + number(local + 26, 2) + number(local + 28, 2);
  if (begin > bytes.size() || bytes.size() - begin < member.stored)
    throw damaged("the archive is damaged; get the file again");
  const uint8_t* const from = bytes.data() + begin;
  if (member.method == 0 ? member.size != member.stored : member.size > kExpansion * (member.stored + 1))
    throw damaged("the archive is damaged; get the file again");
  std::vector<uint8_t> out = member.method == 0
                                 ? std::vector<uint8_t>(from, from + std::min<size_t>(member.size, max_bytes))
                                 : inflated(from, member, max_bytes, where);
  if (out.size() == member.size && ::crc32(0, out.data(), static_cast<uInt>(out.size())) != member.crc)
    throw damaged("wrong checksum; get the file again");
  return out;
}

/// The array of a file of `size` bytes that begins with `bytes`, without its data. Sets `begin` to the offset of its
/// values.
NpyArray parse_header(const std::vector<uint8_t>& bytes, size_t size, const std::string& origin,
                      size_t& begin) {
  if (bytes.size() < 10 || std::memcmp(bytes.data(), "\x93NUMPY", 6) != 0 || bytes[6] < 1 || bytes[6] > 3)
    throw DataError(concat(origin, ": it is no array of NumPy (.npy)"));
  const int length_bytes = bytes[6] == 1 ? 2 : 4;
  begin = 8 + static_cast<size_t>(length_bytes);
  if (bytes.size() < begin) throw DataError(concat(origin, ": its .npy header is cut off"));
  const uint64_t length = number(&bytes[8], length_bytes);
  if (length > bytes.size() - begin) throw DataError(concat(origin, ": its .npy header is cut off"));
  const Header header(std::string(bytes.begin() + static_cast<std::ptrdiff_t>(begin),
                                  bytes.begin() + static_cast<std::ptrdiff_t>(begin + length)),
                      origin);
  begin += length;
  if (const std::string order = header.member("fortran_order", ','); order != "False") {
    throw DataError(concat(origin, ": it is in Fortran order; save it with numpy.ascontiguousarray(...)"));
  }
  const std::string type = header.member("descr", ',');  // '<f4' with its quotes
  const std::string known[] = {"'<f2'", "'<f4'", "'<f8'", "'|b1'", "'|u1'", "'|i1'",
                               "'<u2'", "'<i2'", "'<u4'", "'<i4'", "'<u8'", "'<i8'"};
  if (std::find(std::begin(known), std::end(known), type) == std::end(known)) {
    throw DataError(concat(origin, ": its type is ", printable_excerpt(type, 40),
                           "; expected little-endian floats of 2 to 8 bytes, integers or bool"));
  }
  NpyArray array;
  array.kind = type[2];
  array.item = static_cast<size_t>(type[3] - '0');
  array.dims = dims_of(header);
  size_t stated = array.item;
  for (const int64_t dim : array.dims) {
    if (__builtin_mul_overflow(stated, static_cast<size_t>(dim), &stated)) throw header.damaged();
  }
  const size_t found = size - begin;
  if (stated != found) {
    throw DataError(
        concat(origin, ": its header states ", stated, " bytes of values, found ", found, "; it is damaged"));
  }
  return array;
}

}  // namespace

bool NpyArray::holds_samples_of(const Shape& sample) const {
  if (dims.empty() || dims[0] < 1) return false;
  std::vector<int64_t> wanted = sample.dims(), found(dims.begin() + 1, dims.end());
  const bool flat = found == std::vector<int64_t>{sample.num_elements()};
  for (std::vector<int64_t>* const list : {&wanted, &found})
    list->erase(std::remove(list->begin(), list->end(), 1), list->end());
  return flat || found == wanted;
}

std::string NpyArray::describe() const {
  const std::string text = joined_numbers(dims, "x");
  const char* const name = kind == 'f' ? "float" : kind == 'i' ? "int" : kind == 'u' ? "uint" : "bool";
  return concat(text.empty() ? "a scalar" : text, " of ", name,
                kind == 'b' ? std::string() : std::to_string(8 * item));
}

std::vector<double> NpyArray::values(const std::string& origin) const {
  std::vector<double> out(static_cast<size_t>(count()));
  const int bytes = static_cast<int>(item);
  for (size_t i = 0; i < out.size(); ++i) {
    const uint64_t bits = number(&data[i * item], bytes);
    if (kind == 'f' && item == 8) {
      std::memcpy(&out[i], &bits, sizeof bits);
    } else if (kind == 'f' && item == 4) {
      const auto low = static_cast<uint32_t>(bits);
      float value;
      std::memcpy(&value, &low, sizeof value);
      out[i] = value;
    } else if (kind == 'f') {
      out[i] = half_to_float(static_cast<uint16_t>(bits));
    } else if (kind == 'i') {
      const uint64_t sign = uint64_t{1} << (8 * item - 1);
      out[i] = static_cast<double>(static_cast<int64_t>((bits ^ sign) - sign));
    } else {
      out[i] = static_cast<double>(bits);
    }
    const bool whole = kind == 'f' || std::fabs(out[i]) <= 0x1p53;
    if (!whole) throw DataError(concat(origin, ": ", describe(), " with a number above 2^53"));
  }
  return out;
}

NpyArray parse_npy(const std::vector<uint8_t>& bytes, const std::string& origin) {
  size_t begin = 0;
  NpyArray array = parse_header(bytes, bytes.size(), origin, begin);
  array.data.assign(bytes.begin() + static_cast<std::ptrdiff_t>(begin), bytes.end());
  return array;
}

std::map<std::string, NpyArray> parse_npz(const std::vector<uint8_t>& bytes, const std::string& origin,
                                          size_t max_bytes, const NpyCheck& check) {
  std::map<std::string, NpyArray> arrays;
  size_t total = 0;
  for (const Member& member : members_of(bytes, origin)) {
    const bool npy = ends_with(member.name, ".npy");
    const std::string name = npy ? member.name.substr(0, member.name.size() - 4) : member.name;
    const std::string where = concat(origin, ": ", printable_excerpt(name, 80));
    total += member.size;
    if (total > max_bytes)
      throw DataError(concat(where, ": more than ", max_bytes, " bytes together, which is the limit"));
    size_t begin = 0;
    NpyArray array = parse_header(bytes_of(bytes, member, kMaxHeader, where), member.size, where, begin);
    if (check) check(name, array);
    array.data = bytes_of(bytes, member, member.size, where);
    array.data.erase(array.data.begin(), array.data.begin() + static_cast<std::ptrdiff_t>(begin));
    if (!arrays.emplace(name, std::move(array)).second) throw DataError(concat(where, " is there twice"));
  }
  return arrays;
}

}  // namespace lenslet
