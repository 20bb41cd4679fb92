#include "apps/lenslet/serve/protocol/infer_json.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "framework/tensor/shape.h"

namespace lenslet::serve {
namespace {

// Limits on the memory of a hostile request. A request for one input and one output, with parameters and an id, stays
// below them. Chosen by hand.
constexpr size_t kMaxTensors = 16, kMaxKeys = 64, kMaxDepth = 32, kMaxNameBytes = 1024;

/// Where the parser is: the innermost open object or array.
enum class At { kRoot, kParameters, kInputs, kInput, kShape, kData, kOutputs, kOutput, kIgnored };

/// The parser's events become members of InferJson. Every handler returns true; errors are thrown.
class Reader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit Reader(size_t max_values) : max_values_(max_values) {}
  InferJson take() { return std::move(request_); }

  bool null() override { return other("null"); }
  bool boolean(bool value) override {
    if (at() == At::kParameters && key() == "binary_data") {
      if (owner() == At::kOutput) request_.outputs.back().binary = value;
      return true;
    }
    if (at() == At::kParameters && key() == "binary_data_output") {
      if (owner() == At::kRoot) request_.binary_outputs = value;
      return true;
    }
    return other(value ? "true" : "false");
  }
  bool number_integer(number_integer_t value) override { return integer(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (value <= static_cast<number_unsigned_t>(INT64_MAX)) return integer(static_cast<int64_t>(value));
    if (at() == At::kShape) fail(concat("a dimension is at most ", INT64_MAX, ", found ", value));
    return number(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    if (at() == At::kShape) fail("expected integers, found " + printable_excerpt(text, 40));
    return number(value);
  }
  bool string(string_t& value) override {
    if (at() == At::kRoot && key() == "id") {
      request_.id = short_text(value);
      return true;
    }
    if (at() == At::kInput && key() == "name") return put(request_.inputs.back().name, value);
    if (at() == At::kInput && key() == "datatype") return put(request_.inputs.back().datatype, value);
    if (at() == At::kOutput && key() == "name") return put(request_.outputs.back().name, value);
    return other("a string");
  }
  bool binary(binary_t&) override { return other("bytes"); }

  bool start_object(size_t) override {
    if (open_.empty()) return push(At::kRoot);
    switch (at()) {
      case At::kInputs:
        if (request_.inputs.size() == kMaxTensors) fail(concat("more than ", kMaxTensors, " tensors"));
        request_.inputs.emplace_back();
        return push(At::kInput);
      case At::kOutputs:
        if (request_.outputs.size() == kMaxTensors) fail(concat("more than ", kMaxTensors, " tensors"));
        request_.outputs.emplace_back();
        return push(At::kOutput);
      case At::kRoot:
      case At::kInput:
      case At::kOutput:
        if (key() == "parameters") return push(At::kParameters);
        break;
      default:
        break;
    }
    other("an object");
    return push(At::kIgnored);
  }
  bool key(string_t& name) override {
    Frame& frame = open_.back();
    if (frame.at == At::kIgnored) return true;
    if (std::find(frame.keys.begin(), frame.keys.end(), name) != frame.keys.end())
      fail("the key \"" + printable_excerpt(name, 40) + "\" is there twice");
    if (frame.keys.size() == kMaxKeys) fail(concat("more than ", kMaxKeys, " keys"));
    frame.keys.push_back(short_text(name));
    return true;
  }
  bool end_object() override { return pop(); }
  bool start_array(size_t) override {
    if (open_.empty()) return other("an array");
    if (at() == At::kRoot && key() == "inputs") return push(At::kInputs);
    if (at() == At::kRoot && key() == "outputs") return push(At::kOutputs);
    if (at() == At::kInput && key() == "shape") {
      request_.inputs.back().shape.emplace();
      return push(At::kShape);
    }
    if (at() == At::kInput && key() == "data") {
      request_.inputs.back().data.emplace();
      return push(At::kData);
    }
    if (at() == At::kData) return push(At::kData);
    other("an array");
    return push(At::kIgnored);
  }
  bool end_array() override { return pop(); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    throw DataError(concat("the request is no valid JSON: error at byte ", position));
  }

 private:
  struct Frame {
    At at;
    std::vector<std::string> keys;  // so far; the last is the one whose value comes
  };

  At at() const { return open_.empty() ? At::kIgnored : open_.back().at; }
  At owner() const { return open_[open_.size() - 2].at; }  // of the innermost object
  const std::string& key() const {
    static const std::string none;
    return open_.back().keys.empty() ? none : open_.back().keys.back();
  }
  bool push(At where) {
    if (open_.size() == kMaxDepth) fail(concat("nested deeper than ", kMaxDepth, " levels"));
    open_.push_back({where, {}});
    return true;
  }
  bool pop() {
    open_.pop_back();
    return true;
  }
  bool put(std::string& member, const std::string& value) {
    member = short_text(value);
    return true;
  }
  std::string short_text(const std::string& value) const {
    if (value.size() > kMaxNameBytes) fail(concat("a text has more than ", kMaxNameBytes, " bytes"));
    return value;
  }

  bool integer(int64_t value) {
    if (at() == At::kShape) {
      std::vector<int64_t>& shape = *request_.inputs.back().shape;
      if (shape.size() == Shape::kMaxRank) fail(concat("more than ", Shape::kMaxRank, " dimensions"));
      if (value < 0) fail(concat("a dimension must not be negative, found ", value));
      shape.push_back(value);
      return true;
    }
    if (at() == At::kParameters && owner() == At::kInput && key() == "binary_data_size") {
      if (value < 0) fail(concat("binary_data_size must not be negative, found ", value));
      request_.inputs.back().binary_size = value;
      return true;
    }
    if (at() == At::kParameters && owner() == At::kOutput && key() == "classification" && value != 0)
      fail("the extension 'classification' is unsupported; leave it out and sort the output");
    return number(static_cast<double>(value));
  }
  bool number(double value) {
    if (at() != At::kData) return other("a number");
    if (std::fabs(value) > FLT_MAX) fail("a value is outside FP32's range");
    std::vector<float>& data = *request_.inputs.back().data;
    if (data.size() == max_values_) fail(concat("more than the ", max_values_, " values of a request"));
    data.push_back(static_cast<float>(value));
    return true;
  }

  // A value that no rule above takes: ignored where the protocol leaves room for extensions, else an error.
  bool other(const char* found) {
    if (open_.empty()) throw DataError(concat("the request must be a JSON object, found ", found));
    switch (at()) {
      case At::kIgnored:
        return true;
      case At::kParameters:
        for (const char* known : {"binary_data", "binary_data_output", "binary_data_size"})
          if (key() == known) fail(concat("parameters.", known, " has an unexpected type: ", found));
        for (const char* refused : {"shared_memory_region", "shared_memory_byte_size"})
          if (key() == refused) fail("the extension 'shared memory' is unsupported; send the values");
        return true;
      case At::kRoot:
        return unless_known({"id", "parameters", "inputs", "outputs"}, found);
      case At::kInput:
        return unless_known({"name", "shape", "datatype", "parameters", "data"}, found);
      case At::kOutput:
        return unless_known({"name", "parameters"}, found);
      case At::kInputs:
      case At::kOutputs:
        fail(concat("expected objects as tensors, found ", found));
      case At::kShape:
        fail(concat("expected integers, found ", found));
      case At::kData:
        break;
    }
    fail(concat("expected numbers, found ", found));
  }
  bool unless_known(const std::vector<std::string>& members, const char* found) const {
    if (std::find(members.begin(), members.end(), key()) != members.end())
      fail(concat(key(), " has an unexpected type: ", found));
    return true;
  }
  [[noreturn]] void fail(const std::string& what) const {
    std::string place;
    for (const Frame& frame : open_) {
      if (frame.at == At::kInput) place += concat("inputs[", request_.inputs.size() - 1, "]");
      if (frame.at == At::kOutput) place += concat("outputs[", request_.outputs.size() - 1, "]");
      if (frame.at == At::kShape) place += ".shape";
      if (frame.at == At::kData && !ends_with(place, ".data")) place += ".data";
    }
    throw DataError(concat(place, place.empty() ? "" : ": ", what));
  }

  const size_t max_values_;
  InferJson request_;
  std::vector<Frame> open_;
};

}  // namespace

InferJson parse_infer_json(std::string_view text, size_t max_values) {
  // The parser takes a null byte for the end, and would ignore what follows.
  if (const size_t null = text.find('\0'); null != std::string_view::npos)
    throw DataError(concat("the request is no valid JSON: error at byte ", null + 1));
  Reader reader(max_values);
  nlohmann::json::sax_parse(text.begin(), text.end(), &reader);
  return reader.take();
}

}  // namespace lenslet::serve
