// Bodies of inference requests. The first byte determines how much of the body is JSON: all of it, or what precedes the
// raw tensor, whose length the second byte chooses.
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/lenslet/serve/protocol/infer_answer.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/serve/fixture.h"

using namespace lenslet;

LENSLET_FUZZ_TARGET(infer) {
  static const serve::Signature model = serve::test::my_model();
  Cursor input(data, size);
  const bool binary = input.byte() % 2 == 1;
  const size_t raw = input.byte();
  const std::string body = text_of(input.data(), input.size());
  std::optional<size_t> json_bytes;
  if (binary) json_bytes = body.size() >= raw ? body.size() - raw : raw;

  serve::InferRequest request;
  if (!accepts("", [&] { request = serve::read_infer_request(body, json_bytes, model); })) return;
  check(request.count >= 1 && request.count <= model.max_samples, "from 1 sample to the most of a request");
  const serve::Samples& samples = request.samples;
  check(samples.values.size() + samples.pixels.size() == static_cast<size_t>(2 * request.count) &&
            (samples.values.empty() || samples.pixels.empty()),
        "as many values or pixels as the shape has");
  const std::vector<float> inputs =
      samples.are_pixels() ? serve::values_of(samples.pixels, model) : samples.values;
  for (const float value : inputs) check(binary || std::isfinite(value), "JSON has finite values only");
  static const serve::InferAnswers answers(model);
  const serve::InferAnswer answer = answers.answer(request, inputs.data(), inputs.size());
  check(answer.json_bytes <= answer.body.size(), "the JSON is part of the answer");
  const auto json = nlohmann::json::parse(answer.body.substr(0, answer.json_bytes), nullptr, false);
  check(!json.is_discarded(), "the answer is JSON");
  if (request.binary_output) return;
  const auto& values = json.at("outputs").at(0).at("data");
  check(values.size() == inputs.size(), "the answer has the values");
  for (size_t i = 0; i < values.size(); ++i) {
    const bool finite = std::isfinite(inputs[i]);
    check(finite ? values[i].get<float>() == inputs[i] : values[i].is_null(), "each value reads back");
  }
}

LENSLET_FUZZ_SEEDS(infer) {
  using namespace serve::test;
  const auto seed = [](char binary, char raw, const std::string& body) {
    const std::string text = std::string{binary, raw} + body;
    return Bytes(text.begin(), text.end());
  };
  const std::string values = serve::test::bytes_of({1, 2, 3, 4});
  return {
      seed(0, 0, example("flat.json")),
      seed(0, 0, example("nested.json")),
      seed(1, 16, example("binary.json") + values),
      seed(1, 19, example("two_inputs.json") + values + "abc"),
      seed(0, 0, request_json(R"("shape":[1,2],"datatype":"UINT8","data":[0,255])")),
      seed(1, 2,
           request_json(R"("shape":[1,2],"datatype":"UINT8","parameters":{"binary_data_size":2})") + "ab"),
      seed(0, 0,
           request_json(R"("shape":[1,2],"datatype":"FP32","data":[1e-45,-0.0])",
                        R"(,"parameters":{"binary_data_output":true},"x":[{"y":null}])"))};
}
