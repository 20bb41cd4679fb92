// Internal: one protobuf message in memory, read field by field with protozero; every wire type is checked.
//
// Source of the format: protobuf.dev/programming-guides/encoding; of the messages: onnx/onnx.proto of the ONNX project.
// A message's length is checked against its parent's bytes before anything is read, so that nothing is allocated for a
// stated length that the file does not have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "framework/base/error.h"

namespace lenslet::onnx {

class WireMessage {
 public:
  /// `type` names the message in errors: "NodeProto". All arguments must outlive the object.
  WireMessage(std::string_view bytes, const char* type, const std::string& origin)
      : reader_(bytes.data(), bytes.size()), type_(type), origin_(origin) {}

  /// Goes to the next field; false at the end. Read or skip() each field once.
  bool next() {
    return guarded([this] { return reader_.next(); });
  }
  /// The number of the field.
  uint32_t field() const { return reader_.tag(); }
  void skip() {
    guarded([this] { return reader_.skip(), true; });
  }

  /// Whether the field is a string, bytes, a message or packed numbers.
  bool has_bytes() const { return reader_.has_wire_type(protozero::pbf_wire_type::length_delimited); }
  /// A string, bytes or a message, in place.
  std::string_view bytes() {
    check_type(protozero::pbf_wire_type::length_delimited);
    return guarded([this] {
      const protozero::data_view view = reader_.get_view();
      return std::string_view(view.data(), view.size());
    });
  }
  /// A string of at most `max_bytes` bytes.
  std::string text(size_t max_bytes) {
    const std::string_view view = bytes();
    if (view.size() > max_bytes)
      fail(concat("field ", field(), " has ", view.size(), " bytes, expected at most ", max_bytes));
    return std::string(view);
  }
  /// int64.
  int64_t integer() {
    check_type(protozero::pbf_wire_type::varint);
    return guarded([this] { return reader_.get_int64(); });
  }
  /// int32 or an enumeration, within its 32 bits.
  int32_t small_integer() {
    const int64_t value = integer();
    if (value < INT32_MIN || value > INT32_MAX)
      fail(concat("field ", field(), " is ", value, ", expected a number of 32 bits"));
    return static_cast<int32_t>(value);
  }
  float real() {
    check_type(protozero::pbf_wire_type::fixed32);
    return guarded([this] { return reader_.get_float(); });
  }

  /// Calls add(value) for each value of a repeated field, packed or not. Kind: int64_t, float or double.
  template <class Kind, class Add>
  void each(const Add& add) {
    const bool packed = reader_.has_wire_type(protozero::pbf_wire_type::length_delimited);
    guarded([&] {
      if constexpr (std::is_same_v<Kind, int64_t>) {
        if (!packed) return add(integer()), true;
        for (const int64_t value : reader_.get_packed_int64()) add(value);
      } else if constexpr (std::is_same_v<Kind, float>) {
        if (!packed) return add(real()), true;
        check_multiple_of(sizeof(float));
        for (const float value : reader_.get_packed_float()) add(value);
      } else {
        if (!packed) {
          check_type(protozero::pbf_wire_type::fixed64);
          return add(reader_.get_double()), true;
        }
        check_multiple_of(sizeof(double));
        for (const double value : reader_.get_packed_double()) add(value);
      }
      return true;
    });
  }

  /// Throws DataError: "FILE: TypeProto: WHAT".
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(concat(origin_, ": not a valid ONNX model: ", type_, ": ", what));
  }
  const std::string& origin() const { return origin_; }  ///< The file's name, as errors print it.

 private:
  template <class Read>
  auto guarded(const Read& read) -> decltype(read()) {
    try {
      return read();
    } catch (const protozero::end_of_buffer_exception&) {
      fail("a field ends past the end of its message; the file is cut or damaged");
    } catch (const protozero::exception& error) {
      fail(concat(error.what(), "; the file is damaged"));
    }
  }
  void check_type(protozero::pbf_wire_type type) const {
    if (!reader_.has_wire_type(type))
      fail(concat("field ", field(), " has wire type ", static_cast<uint32_t>(reader_.wire_type()),
                  ", expected ", static_cast<uint32_t>(type)));
  }
  // protozero only asserts that a packed field of fixed-size values has a whole number of them.
  void check_multiple_of(size_t size) {
    protozero::pbf_reader ahead = reader_;
    const size_t length = ahead.get_view().size();
    if (length % size != 0)
      fail(concat("field ", field(), " has ", length, " bytes, expected a multiple of ", size));
  }

  protozero::pbf_reader reader_;
  const char* type_;
  const std::string& origin_;
};

}  // namespace lenslet::onnx
