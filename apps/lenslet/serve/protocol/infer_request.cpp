#include "apps/lenslet/serve/protocol/infer_request.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "apps/lenslet/serve/protocol/infer_json.h"
#include "apps/lenslet/serve/protocol/json_length_field.h"
#include "framework/base/error.h"
#include "framework/base/joined_numbers.h"
#include "framework/base/text.h"
#include "models/digit/picture_input.h"

namespace lenslet::serve {
namespace {

constexpr size_t kShortJson = 1024;  // bytes

std::string shown(const std::vector<int64_t>& shape) { return "[" + joined_numbers(shape, ",") + "]"; }

std::string expected_shape(const Shape& sample) {
  std::string text = "[N";
  for (int i = 0; i < sample.rank(); ++i) text += concat(",", sample[i]);
  return text + "]";
}

/// The number of samples of a shape.
int64_t samples_of(const InferInput& input, const Signature& signature) {
  const std::vector<int64_t>& shape = *input.shape;
  const Shape& sample = signature.input_shape;
  bool fits = static_cast<int>(shape.size()) == sample.rank() + 1;
  for (int i = 0; fits && i < sample.rank(); ++i) fits = shape[static_cast<size_t>(i) + 1] == sample[i];
  if (!fits || shape[0] < 1)
    throw DataError(concat("input '", signature.input, "' expects the shape ", expected_shape(sample),
                           fits ? " with N of at least 1" : "", ", found ", shown(shape)));
  if (shape[0] > signature.max_samples)
    throw DataError(concat("a request has at most ", signature.max_samples,
                           " samples here (--max-queue), found ", shape[0]));
  return shape[0];
}

void check_input_size(size_t found, size_t expected, const char* what) {
  if (found != expected)
    throw DataError(concat("the input's shape needs ", expected, " ", what, ", found ", found));
}

std::vector<uint8_t> bytes_of(const std::vector<float>& values) {
  std::vector<uint8_t> bytes(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!(values[i] >= 0 && values[i] <= 255) || values[i] != std::floor(values[i]))
      throw DataError(concat("UINT8 expects integers from 0 to 255, found ", values[i]));
    bytes[i] = static_cast<uint8_t>(values[i]);
  }
  return bytes;
}

const InferInput& only_input(const InferJson& json, const Signature& signature) {
  if (json.inputs.size() != 1)
    throw DataError(concat("the model '", signature.model, "' has 1 input, '", signature.input,
                           "'; the request has ", json.inputs.size()));
  const InferInput& input = json.inputs.front();
  if (input.name != signature.input)
    throw DataError(
        concat("unknown input '", printable_excerpt(input.name, 60), "', expected '", signature.input, "'"));
  if (!input.shape) throw DataError(concat("input '", signature.input, "' lacks its shape"));
  if (input.datatype != "FP32" && input.datatype != "UINT8")
    throw DataError(concat("input '", signature.input,
                           "' expects the datatype FP32, or UINT8 for pixels, found '",
                           printable_excerpt(input.datatype, 40), "'"));
  if (input.data.has_value() == input.binary_size.has_value())
    throw DataError(concat("input '", signature.input, "' needs ", input.data ? "only one of " : "",
                           "data or parameters.binary_data_size"));
  return input;
}

bool wants_binary(const InferJson& json, const Signature& signature) {
  if (json.outputs.size() > 1) throw DataError(concat("the model has 1 output, '", signature.output, "'"));
  if (json.outputs.empty()) return json.binary_outputs;
  const InferOutput& output = json.outputs.front();
  if (output.name != signature.output)
    throw DataError(concat("unknown output '", printable_excerpt(output.name, 60), "', expected '",
                           signature.output, "'"));
  return output.binary.value_or(json.binary_outputs);
}

/// The JSON before raw tensors. The requests of a client mostly have the same: each thread keeps the last one that it
/// parsed.
const InferJson& json_before_tensors(std::string_view text, size_t max_values) {
  struct Last {
    std::string text;
    size_t max_values = 0;
    InferJson json;
  };
  thread_local Last last;
  if (last.text.empty() || last.text != text || last.max_values != max_values) {
    last.text.clear();  // also if it is refused
    last.json = parse_infer_json(text, max_values);
    last.max_values = max_values;
    last.text = text;
  }
  return last.json;
}

}  // namespace

InferRequest read_infer_request(std::string_view body, std::optional<size_t> json_bytes,
                                const Signature& signature) {
  if (json_bytes && *json_bytes > body.size())
    throw DataError(
        concat(kJsonLengthField, " is ", *json_bytes, ", the body has only ", body.size(), " bytes"));
  const std::string_view raw = json_bytes ? body.substr(*json_bytes) : std::string_view();
  const auto sample = static_cast<size_t>(signature.input_shape.num_elements());
  const std::string_view text = json_bytes ? body.substr(0, *json_bytes) : body;
  const size_t max_values = static_cast<size_t>(signature.max_samples) * sample;
  InferJson own;
  const bool is_short = json_bytes && text.size() <= kShortJson;
  if (!is_short) own = parse_infer_json(text, max_values);
  const InferJson& json = is_short ? json_before_tensors(text, max_values) : own;
  const InferInput& input = only_input(json, signature);

  InferRequest request;
  request.id = json.id;
  request.binary_output = wants_binary(json, signature);
  request.count = samples_of(input, signature);
  const size_t values = static_cast<size_t>(request.count) * sample;
  const bool pixels = input.datatype == "UINT8";
  if (input.binary_size) {
    const size_t item = pixels ? 1 : sizeof(float);
    check_input_size(static_cast<size_t>(*input.binary_size), values * item, "bytes of binary data");
    if (raw.size() != values * item)
      throw DataError(concat("binary_data_size is ", values * item, ", but ", raw.size(),
                             " bytes follow the JSON (", kJsonLengthField, " is its length)"));
  } else {
    check_input_size(input.data->size(), values, "values");
    if (!raw.empty()) throw DataError(concat(raw.size(), " bytes after the JSON belong to no input"));
  }

  Samples& samples = request.samples;
  if (pixels) {
    const auto* const bytes = reinterpret_cast<const uint8_t*>(raw.data());
    samples.pixels = input.data ? bytes_of(*input.data) : std::vector<uint8_t>(bytes, bytes + raw.size());
  } else if (is_short && input.data) {
    samples.values = *input.data;  // of the kept JSON
  } else if (input.data) {
    samples.values = std::move(*own.inputs.front().data);
  } else {
    samples.values.resize(values);
    std::memcpy(samples.values.data(), raw.data(), raw.size());
  }
  return request;
}

// A channel is a plane, or every C-th value where channels are last.
std::vector<float> values_of(const std::vector<uint8_t>& pixels, const Signature& signature) {
  const size_t channels = signature.normalisations.size();
  const std::optional<PictureLayout> layout = picture_layout(signature.input_shape);
  const bool apart = channels > 1 && layout && layout->channels_last;
  const auto plane = apart ? 1 : static_cast<size_t>(signature.input_shape.num_elements()) / channels;
  std::vector<float> values(pixels.size());
  for (size_t first = 0, c = 0; first < values.size(); first += plane, c = (c + 1) % channels)
    signature.normalisations[c].apply(pixels.data() + first, static_cast<int64_t>(plane),
                                      values.data() + first);
  return values;
}

}  // namespace lenslet::serve
