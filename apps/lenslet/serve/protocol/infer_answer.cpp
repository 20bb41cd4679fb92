#include "apps/lenslet/serve/protocol/infer_answer.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/common/system/environment.h"
#include "framework/base/error.h"

namespace lenslet::serve {
namespace {

using Json = nlohmann::ordered_json;

// Usually enough for the fields besides the model's, and for one number.
constexpr size_t kMoreBytes = 128, kNumberBytes = 12;

// Bytes that are not UTF-8 become replacement characters.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string quoted(const std::string& text) { return text_of(Json(text)); }

Json tensor_json(const std::string& name, const Shape& sample, int64_t samples) {
  std::vector<int64_t> shape = sample.dims();
  shape.insert(shape.begin(), samples);
  return {{"name", name}, {"datatype", "FP32"}, {"shape", shape}};
}

void append_number(std::string& text, float value) {
  if (!std::isfinite(value)) {
    text += "null";
    return;
  }
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

}  // namespace

std::string error_json(const std::string& message) { return text_of({{"error", message}}); }

std::string server_json() {
  return text_of(
      {{"name", "lenslet"}, {"version", program_version()}, {"extensions", {"binary_tensor_data"}}});
}

std::string model_json(const Signature& signature) {
  return text_of({{"name", signature.model},
                  {"versions", Json::array({signature.version})},
                  {"platform", "lenslet"},
                  {"inputs", Json::array({tensor_json(signature.input, signature.input_shape, -1)})},
                  {"outputs", Json::array({tensor_json(signature.output, signature.output_shape, -1)})}});
}

InferAnswers::InferAnswers(const Signature& signature)
    : model_("{\"model_name\":" + quoted(signature.model) +
             ",\"model_version\":" + quoted(signature.version)),
      output_(",\"outputs\":[{\"name\":" + quoted(signature.output) + ",\"datatype\":\"FP32\",\"shape\":[") {
  for (int i = 0; i < signature.output_shape.rank(); ++i)
    shape_ += "," + std::to_string(signature.output_shape[i]);
  shape_ += ']';
}

InferAnswer InferAnswers::answer(const InferRequest& request, const float* values, size_t size) const {
  const size_t bytes = size * sizeof(float);
  InferAnswer answer;
  std::string& body = answer.body;
  body.reserve(model_.size() + output_.size() + shape_.size() + kMoreBytes +
               (request.binary_output ? bytes : kNumberBytes * size));
  body += model_;
  if (request.id) body.append(",\"id\":").append(quoted(*request.id));
  body.append(output_).append(std::to_string(request.count)).append(shape_);
  if (request.binary_output) {
    body.append(",\"parameters\":{\"binary_data_size\":").append(std::to_string(bytes)).append("}");
  } else {
    body += ",\"data\":[";
    for (size_t i = 0; i < size; ++i) {
      if (i > 0) body += ',';
      append_number(body, values[i]);
    }
    body += ']';
  }
  body += "}]}";
  answer.json_bytes = body.size();
  if (request.binary_output) body.append(reinterpret_cast<const char*>(values), bytes);
  return answer;
}

}  // namespace lenslet::serve
