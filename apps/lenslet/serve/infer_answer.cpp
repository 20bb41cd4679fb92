#include "apps/lenslet/serve/infer_answer.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/common/system/environment.h"
#include "framework/base/error.h"

namespace lenslet::serve {
namespace {

using Json = nlohmann::ordered_json;

// Bytes that are not UTF-8 become replacement characters.
std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json tensor_json(const std::string& name, const Shape& sample, int64_t samples) {
  Json shape = {samples};
  for (int i = 0; i < sample.rank(); ++i) shape.push_back(sample[i]);
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

InferAnswer infer_answer(const Signature& signature, const InferRequest& request,
                         const std::vector<float>& values) {
  Json json = {{"model_name", signature.model}, {"model_version", signature.version}};
  if (request.id) json["id"] = *request.id;
  Json output = tensor_json(signature.output, signature.output_shape, request.count);
  const size_t bytes = values.size() * sizeof(float);
  if (request.binary_output) output["parameters"] = {{"binary_data_size", bytes}};
  InferAnswer answer;
  answer.body = text_of(json);
  answer.body.pop_back();
  answer.body += ",\"outputs\":[" + text_of(output);
  if (!request.binary_output) {
    answer.body.back() = ',';
    answer.body += "\"data\":[";
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) answer.body += ',';
      append_number(answer.body, values[i]);
    }
    answer.body += "]}";
  }
  answer.body += "]}";
  answer.json_bytes = answer.body.size();
  if (request.binary_output) answer.body.append(reinterpret_cast<const char*>(values.data()), bytes);
  return answer;
}

}  // namespace lenslet::serve
