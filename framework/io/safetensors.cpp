// safetensors: the header's length (8 bytes, little-endian), a JSON header, then the data. The header is
// {"name": {"dtype", "shape", "data_offsets"}, …, "__metadata__": {strings}}; offsets count from its end.
// Source: github.com/huggingface/safetensors, README "Format". Departures from its reader: NaN is refused, the header
// has at most 1 MiB, and a key that occurs twice in an object is an error.

#include "framework/io/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/joined_numbers.h"
#include "framework/base/strict_json.h"
#include "framework/base/text.h"
#include "framework/io/file.h"
#include "framework/io/file_guess.h"
#include "framework/tensor/float_formats.h"

namespace lenslet {
namespace {

// Far above the files that are read, LeNet-5's weights of 10 tensors. They bound the memory and the time that a hostile
// file can take.
constexpr size_t kMaxFileBytes = size_t{256} << 20;
constexpr uint64_t kMaxHeaderBytes = 1 << 20;
constexpr size_t kMaxTensors = 4096;
constexpr size_t kLengthBytes = 8;  // of the header's length, with which a file begins

struct Entry {
  std::string dtype;
  std::vector<uint64_t> shape, offsets;
  bool has_dtype = false, has_shape = false, has_offsets = false;
};

// Receives the header's JSON event by event. nlohmann's DOM would keep the last of duplicate keys and convert -1 to
// 2^64 - 1. Here every event that the format does not allow at its position ends the parse.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  HeaderReader(const std::string& origin, std::map<std::string, Entry>& entries,
               std::map<std::string, std::string>& metadata)
      : origin_(origin), entries_(entries), metadata_(metadata) {}

  bool null() override { return wrong_value("null"); }
  bool boolean(bool value) override { return wrong_value(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return wrong_value(concat(value, ", a negative number"));
  }
  bool number_float(number_float_t, const string_t& text) override {
    const bool integer = text.find_first_not_of("0123456789") == std::string::npos;
    return wrong_value(printable_excerpt(text) +
                       (integer ? ", a number of more than 64 bits" : ", not a whole number"));
  }
  bool binary(binary_t&) override { return wrong_value("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (place_ != Place::kList) return wrong_value(concat(value));
    std::vector<uint64_t>& list = key_ == "shape" ? entry_->shape : entry_->offsets;
    const size_t limit = key_ == "shape" ? static_cast<size_t>(Shape::kMaxRank) : 2;
    if (list.size() == limit) {
      fail(concat(where(), ": expected ", key_ == "shape" ? "at most " : "", limit, " numbers in ", key_,
                  ", found more"));
    }
    list.push_back(value);
    return true;
  }

  bool string(string_t& value) override {
    if (place_ == Place::kMetadata) {
      metadata_[key_] = value;
    } else if (place_ == Place::kEntry && key_ == "dtype") {
      entry_->dtype = value;
    } else {
      return wrong_value("\"" + printable_excerpt(value) + "\"");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop) {
      place_ = metadata_next_ ? Place::kMetadata : Place::kEntry;
    } else {
      return wrong_value("an object");
    }
    return true;
  }

  bool key(string_t& name) override {
    key_ = name;
    if (place_ == Place::kTop) {
      metadata_next_ = name == "__metadata__";
      tensor_ = name;
      if (metadata_next_ ? std::exchange(has_metadata_, true) : entries_.count(name) != 0) duplicate(name);
      if (!metadata_next_) {
        if (entries_.size() == kMaxTensors)
          fail(concat("expected at most ", kMaxTensors, " tensors, found more"));
        entry_ = &entries_[name];
      }
    } else if (place_ == Place::kMetadata) {
      if (metadata_.count(name)) duplicate(name);
    } else {
      bool* const seen = name == "dtype"          ? &entry_->has_dtype
                         : name == "shape"        ? &entry_->has_shape
                         : name == "data_offsets" ? &entry_->has_offsets
                                                  : nullptr;
      if (!seen) {
        fail(concat(where(), ": expected the keys dtype, shape and data_offsets, found \"",
                    printable_excerpt(name), "\""));
      }
      if (std::exchange(*seen, true)) duplicate(name);
    }
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kEntry) {
      const char* const missing = !entry_->has_dtype     ? "dtype"
                                  : !entry_->has_shape   ? "shape"
                                  : !entry_->has_offsets ? "data_offsets"
                                                         : nullptr;
      if (missing) fail(concat(where(), ": ", missing, " is missing"));
    }
    place_ = place_ == Place::kTop ? Place::kEnd : Place::kTop;
    return true;
  }

  bool start_array(std::size_t) override {
    if (place_ != Place::kEntry || key_ == "dtype") return wrong_value("a list");
    place_ = Place::kList;
    return true;
  }

  bool end_array() override {
    if (key_ == "data_offsets" && entry_->offsets.size() != 2) {
      fail(concat(where(), ": expected 2 numbers in data_offsets, found ", entry_->offsets.size()));
    }
    place_ = Place::kEntry;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // Keeps the last part of "[json.exception.parse_error.101] parse error at line 1, column 9: syntax error while …".
    std::string what = error.what();
    const size_t colon = what.find(": ");
    if (colon != std::string::npos) what.erase(0, colon + 2);
    fail(concat("not valid JSON at byte ", position, ": ", printable_excerpt(what)));
  }

 private:
  enum class Place { kStart, kTop, kMetadata, kEntry, kList, kEnd };

  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(concat(origin_, ": safetensors header: ", what));
  }
  [[noreturn]] void duplicate(const std::string& name) const {
    fail(concat(place_ == Place::kTop ? "" : where() + ": ", "the key \"", printable_excerpt(name),
                "\" appears twice"));
  }
  std::string where() const {
    return metadata_next_ ? "__metadata__" : "tensor \"" + printable_excerpt(tensor_) + "\"";
  }

  // Reports `found` where the format requires something else; the position determines what is required.
  bool wrong_value(const std::string& found) const {
    std::string wanted;
    switch (place_) {
      case Place::kStart:
      case Place::kEnd:
        fail(concat("expected an object of tensors, found ", found));
      case Place::kTop:
        fail(concat(where(), ": expected an object, found ", found));
      case Place::kMetadata:
        fail(concat("__metadata__ \"", printable_excerpt(key_), "\": expected a string, found ", found));
      case Place::kEntry:
        wanted = key_ == "dtype" ? "a string" : "a list of whole numbers";
        break;
      case Place::kList:
        wanted = "whole numbers from 0 to 2^64 - 1";
        break;
    }
    fail(concat(where(), ": expected ", wanted, " for ", printable_excerpt(key_), ", found ", found));
  }

  const std::string& origin_;
  std::map<std::string, Entry>& entries_;
  std::map<std::string, std::string>& metadata_;
  Place place_ = Place::kStart;
  bool metadata_next_ = false, has_metadata_ = false;
  std::string tensor_, key_;
  Entry* entry_ = nullptr;
};

size_t element_bytes(const std::string& dtype) {
  return dtype == "F32" ? 4 : dtype == "F16" || dtype == "BF16" ? 2 : 0;
}

void convert(const uint8_t* in, const std::string& dtype, size_t count, float* out) {
  for (size_t i = 0; i < count; ++i) {
    if (dtype == "F32") {
      const uint8_t* p = in + 4 * i;
      out[i] =
          float_from_bits(uint32_t{p[0]} | uint32_t{p[1]} << 8 | uint32_t{p[2]} << 16 | uint32_t{p[3]} << 24);
    } else {
      const auto bits = static_cast<uint16_t>(in[2 * i] | in[2 * i + 1] << 8);
      out[i] = dtype == "F16" ? half_to_float(bits) : bfloat16_to_float(bits);
    }
  }
}

// dtype, shape and length of one tensor. Returns its shape.
Shape check_entry(const std::string& name, const Entry& entry, uint64_t data_bytes,
                  const std::string& origin) {
  const std::string tensor = concat(origin, ": tensor \"", printable_excerpt(name), "\": ");
  const uint64_t element = element_bytes(entry.dtype);
  if (element == 0) {
    throw DataError(concat(tensor, "expected F32, F16 or BF16, found ", printable_excerpt(entry.dtype),
                           "; convert it before saving"));
  }
  const std::string text = joined_numbers(entry.shape, "x");
  uint64_t bytes = element;
  for (const uint64_t dim : entry.shape) {
    if (__builtin_mul_overflow(bytes, dim, &bytes))
      throw DataError(concat(tensor, "the product of its shape ", text, " overflows 64 bits"));
  }
  const uint64_t begin = entry.offsets[0], end = entry.offsets[1];
  if (begin > end)
    throw DataError(concat(tensor, "expected data_offsets in ascending order, found ", begin, " and ", end));
  if (end > data_bytes)
    throw DataError(concat(tensor, "its data_offsets end at ", end, ", but the file has only ", data_bytes,
                           " bytes of data"));
  if (end - begin != bytes) {
    throw DataError(concat(tensor, "its shape ", text.empty() ? "scalar" : text, " in ", entry.dtype,
                           " takes ", bytes, " bytes, but its data_offsets span ", end - begin));
  }
  std::vector<int64_t> dims;
  for (const uint64_t dim : entry.shape) {
    if (dim > static_cast<uint64_t>(INT64_MAX))
      throw DataError(concat(tensor, "expected dimensions up to 2^63 - 1, found ", dim));
    dims.push_back(static_cast<int64_t>(dim));
  }
  try {
    return Shape(dims);
  } catch (const DataError& error) {  // a dimension of 0 hid from the product that the others overflow
    throw DataError(concat(tensor, error.what()));
  }
}

// The tensors must cover the data exactly: bytes that belong to none could hide content.
void check_cover(const std::map<std::string, Entry>& entries, uint64_t data_bytes,
                 const std::string& origin) {
  std::vector<const std::pair<const std::string, Entry>*> sorted;
  sorted.reserve(entries.size());
  for (const auto& entry : entries) sorted.push_back(&entry);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](auto* a, auto* b) { return a->second.offsets < b->second.offsets; });
  uint64_t end = 0;
  const std::string* previous = nullptr;
  for (const auto* entry : sorted) {
    const uint64_t begin = entry->second.offsets[0];
    if (begin < end) {
      throw DataError(concat(origin, ": the data of tensors \"", printable_excerpt(*previous), "\" and \"",
                             printable_excerpt(entry->first), "\" overlap at byte ", begin));
    }
    if (begin > end) {
      throw DataError(concat(origin, ": ", begin - end, " bytes before the data of tensor \"",
                             printable_excerpt(entry->first),
                             "\" belong to no tensor; expected data without gaps"));
    }
    end = entry->second.offsets[1];
    previous = &entry->first;
  }
  if (end < data_bytes)
    throw DataError(concat(origin, ": the last ", data_bytes - end,
                           " bytes belong to no tensor; expected data without gaps"));
}

}  // namespace

Safetensors parse_safetensors(const uint8_t* bytes, size_t size, const std::string& origin,
                              bool allow_non_finite) {
  if (size == 0) throw DataError(concat(origin, ": the file is empty, expected safetensors"));
  uint64_t header_bytes = 0;
  for (size_t i = 0; i < kLengthBytes && i < size; ++i) header_bytes |= uint64_t{bytes[i]} << (8 * i);
  const bool header_fits = size > kLengthBytes && header_bytes >= 2 && header_bytes <= kMaxHeaderBytes &&
                           header_bytes <= size - kLengthBytes;
  if (!header_fits || bytes[kLengthBytes] != '{') {
    const std::string guess =
        guess_format(bytes, size, "save the state_dict with safetensors.torch.save_file");
    if (!guess.empty() && guess != kSafetensorsFile)
      throw DataError(concat(origin, ": expected safetensors, found what seems to be ", guess));
  }
  if (size <= kLengthBytes)
    throw DataError(concat(origin, ": expected safetensors, found only ", size, " bytes"));
  if (header_bytes < 2)
    throw DataError(concat(origin, ": the header length is ", header_bytes,
                           ", expected at least 2; not a safetensors file"));
  if (header_bytes > kMaxHeaderBytes) {
    throw DataError(concat(origin, ": the header length is ", header_bytes, " bytes, expected at most ",
                           kMaxHeaderBytes, "; not a safetensors file, or damaged"));
  }
  if (!header_fits) {
    throw DataError(concat(origin, ": truncated: the header is ", header_bytes, " bytes long, but only ",
                           size - kLengthBytes, " follow"));
  }
  if (bytes[kLengthBytes] != '{')
    throw DataError(concat(origin, ": expected a header that starts with '{'; not a safetensors file"));

  std::map<std::string, Entry> entries;
  Safetensors result;
  const uint8_t* const header = bytes + kLengthBytes;
  const uint8_t* const data = header + header_bytes;
  check_no_nul({reinterpret_cast<const char*>(header), static_cast<size_t>(header_bytes)},
               concat(origin, ": safetensors header"));
  HeaderReader reader(origin, entries, result.metadata);
  nlohmann::json::sax_parse(header, data, &reader);
  if (entries.empty()) throw DataError(concat(origin, ": expected at least one tensor, found none"));

  const uint64_t data_bytes = size - kLengthBytes - header_bytes;
  std::map<std::string, Shape> shapes;
  for (const auto& [name, entry] : entries) shapes[name] = check_entry(name, entry, data_bytes, origin);
  check_cover(entries, data_bytes, origin);

  for (const auto& [name, entry] : entries) {
    Tensor tensor(shapes[name]);
    const auto count = static_cast<size_t>(tensor.shape().num_elements());
    convert(data + entry.offsets[0], entry.dtype, count, tensor.data());
    if (!allow_non_finite) {
      size_t nans = 0, infinities = 0;
      for (size_t i = 0; i < count; ++i) {
        nans += std::isnan(tensor.data()[i]);
        infinities += std::isinf(tensor.data()[i]);
      }
      if (nans + infinities > 0) {
        throw DataError(concat(origin, ": tensor \"", printable_excerpt(name), "\" has ", nans, " NaN and ",
                               infinities, " infinite of ", count, " values, expected finite ones"));
      }
    }
    result.tensors.emplace(name, std::move(tensor));
  }
  return result;
}

Safetensors read_safetensors(const std::string& path, bool allow_non_finite) {
  const std::vector<uint8_t> bytes = read_file(path, kMaxFileBytes);
  return parse_safetensors(bytes.data(), bytes.size(), name_in_errors(path), allow_non_finite);
}

}  // namespace lenslet
