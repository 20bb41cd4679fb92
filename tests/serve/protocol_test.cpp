// The reader and the writer of the Open Inference Protocol.
#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "apps/lenslet/serve/protocol/infer_answer.h"
#include "framework/base/error.h"
#include "tests/serve/fixture.h"
#include "tests/support/expect_error.h"

namespace lenslet::serve::test {
namespace {

using Json = nlohmann::json;

const std::vector<float> kValues = {1, 2, 3, 4};

InferRequest read(const std::string& body, std::optional<size_t> json_bytes = {}) {
  return read_infer_request(body, json_bytes, my_model());
}

void expect_refusal(const std::string& words, const std::string& body,
                    std::optional<size_t> json_bytes = {}) {
  SCOPED_TRACE(body);
  expect_error<DataError>([&] { read(body, json_bytes); }, words);
}

TEST(ServeProtocol, ReadsTheExamples) {
  const InferRequest flat = read(example("flat.json"));
  EXPECT_EQ(flat.id, "42");
  EXPECT_EQ(flat.count, 2);
  EXPECT_EQ(flat.samples.values, kValues);
  EXPECT_FALSE(flat.binary_output);
  const InferRequest nested = read(example("nested.json"));
  EXPECT_FALSE(nested.id);
  EXPECT_EQ(nested.samples.values, kValues);
  const std::string json = example("binary.json");
  const InferRequest binary = read(json + bytes_of(kValues), json.size());
  EXPECT_EQ(binary.samples.values, kValues);
  EXPECT_TRUE(binary.binary_output);
  const std::string two = example("two_inputs.json");
  expect_refusal("has 1 input, 'input0'; the request has 2", two + std::string(19, '\0'), two.size());
}

TEST(ServeProtocol, RefusesWhatIsNoRequest) {
  expect_refusal("no valid JSON", "");
  expect_refusal("no valid JSON", "{");
  expect_refusal("no valid JSON", example("flat.json") + "x");
  expect_refusal("no valid JSON", "{\"id\":\"\xff\"}");
  expect_refusal("must be a JSON object, found an array", "[]");
  expect_refusal("must be a JSON object, found a number", "7");
  expect_refusal("has 1 input, 'input0'; the request has 0", "{}");
  expect_refusal("id has an unexpected type: a number", R"({"id":7})");
  expect_refusal("inputs has an unexpected type: an object", R"({"inputs":{}})");
  expect_refusal("expected objects as tensors, found a number", R"({"inputs":[7]})");
  expect_refusal("the key \"id\" is there twice", R"({"id":"a","id":"b"})");
  expect_refusal("more than 16 tensors",
                 R"({"inputs":[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]})");
  expect_refusal("more than 16 tensors",
                 R"({"outputs":[{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}]})");
  expect_refusal("nested deeper than 32 levels", R"({"x":)" + std::string(100, '['));
  expect_refusal("a text has more than 1024 bytes", R"({"id":")" + std::string(1025, 'x') + "\"}");
}

TEST(ServeProtocol, RefusesWhatDoesNotFitTheModel) {
  const std::string good = R"("shape":[2,2],"datatype":"FP32","data":[1,2,3,4])";
  EXPECT_NO_THROW(read(request_json(good)));
  expect_refusal("unknown input 'other', expected 'input0'",
                 R"({"inputs":[{"name":"other","shape":[1,2],"datatype":"FP32","data":[1,2]}]})");
  expect_refusal("lacks its shape", request_json(R"("datatype":"FP32","data":[1,2])"));
  expect_refusal("expects the shape [N,2], found [2,3]",
                 request_json(R"("shape":[2,3],"datatype":"FP32","data":[])"));
  expect_refusal("expects the shape [N,2], found [4]",
                 request_json(R"("shape":[4],"datatype":"FP32","data":[])"));
  expect_refusal("expects the shape [N,2] with N of at least 1, found [0,2]",
                 request_json(R"("shape":[0,2],"datatype":"FP32","data":[])"));
  expect_refusal("inputs[0].shape: expected integers, found a string", request_json(R"("shape":["2",2])"));
  expect_refusal("a dimension must not be negative", request_json(R"("shape":[-1,2])"));
  expect_refusal("inputs[0].shape: expected integers, found 2.0", request_json(R"("shape":[2.0,2])"));
  expect_refusal("inputs[0].shape: a dimension is at most 9223372036854775807, found 18446744073709551615",
                 request_json(R"("shape":[18446744073709551615,2])"));
  expect_refusal("at most 100 samples here (--max-queue), found 101",
                 request_json(R"("shape":[101,2],"datatype":"FP32","data":[])"));
  expect_refusal("expects the datatype FP32, or UINT8",
                 request_json(R"("shape":[1,2],"datatype":"INT64","data":[1,2])"));
  expect_refusal("expects the datatype FP32, or UINT8", request_json(R"("shape":[1,2],"data":[1,2])"));
  expect_refusal("needs 4 values, found 3",
                 request_json(R"("shape":[2,2],"datatype":"FP32","data":[1,2,3])"));
  expect_refusal("needs 2 values, found 3",
                 request_json(R"("shape":[1,2],"datatype":"FP32","data":[[1,2],[3]])"));
  expect_refusal("outside FP32's range", request_json(R"("shape":[1,2],"datatype":"FP32","data":[1,1e39])"));
  expect_refusal("inputs[0].data: expected numbers, found a string",
                 request_json(R"("shape":[1,2],"datatype":"FP32","data":["1"])"));
  expect_refusal("inputs[0].data: expected numbers, found null",
                 request_json(R"("shape":[1,2],"datatype":"FP32","data":[null,1])"));
  expect_refusal("needs data or parameters.binary_data_size",
                 request_json(R"("shape":[1,2],"datatype":"FP32")"));
  expect_refusal(
      "needs only one of data or",
      request_json(R"("shape":[1,2],"datatype":"FP32","data":[1,2],"parameters":{"binary_data_size":8})"));
  expect_refusal("unknown output 'x', expected 'output0'",
                 request_json(good, R"(,"outputs":[{"name":"x"}])"));
  expect_refusal("has 1 output", request_json(good, R"(,"outputs":[{"name":"output0"},{"name":"output0"}])"));
  expect_refusal("'classification' is unsupported",
                 request_json(good, R"(,"outputs":[{"name":"output0","parameters":{"classification":3}}])"));
  expect_refusal(
      "'shared memory' is unsupported",
      request_json(R"("shape":[1,2],"datatype":"FP32","parameters":{"shared_memory_region":"x"})"));
}

// More values than any request may have end the reading, before they fill the memory.
TEST(ServeProtocol, StopsAtTheLargestRequest) {
  std::string many = R"("data":[0)";
  for (int i = 0; i < 200; ++i) many += ",0";
  expect_refusal("inputs[0].data: more than the 200 values of a request", request_json(many));
}

TEST(ServeProtocol, RefusesBinaryDataOfAnotherLength) {
  const auto with = [](int size) {
    return request_json(R"("shape":[2,2],"datatype":"FP32","parameters":{"binary_data_size":)" +
                        std::to_string(size) + "}");
  };
  const std::string json = with(16), raw = bytes_of(kValues);
  EXPECT_NO_THROW(read(json + raw, json.size()));
  expect_refusal("the body has only", json, json.size() + 1);
  expect_refusal("15 bytes follow the JSON", json + raw.substr(1), json.size());
  expect_refusal("17 bytes follow the JSON", json + raw + "x", json.size());
  expect_refusal("0 bytes follow the JSON", json);
  expect_refusal("needs 16 bytes of binary data, found 12", with(12) + raw.substr(4), with(12).size());
  expect_refusal("must not be negative", with(-1) + raw, with(-1).size());
  expect_refusal("no valid JSON", json + raw, json.size() - 1);
  expect_refusal("no valid JSON", json + raw, json.size() + 1);
  expect_refusal("no valid JSON", json + raw, 0);
  const std::string plain = request_json(R"("shape":[2,2],"datatype":"FP32","data":[1,2,3,4])");
  expect_refusal("16 bytes after the JSON belong to no input", plain + raw, plain.size());
  expect_refusal("binary_data_size has an unexpected type: a string",
                 request_json(R"("parameters":{"binary_data_size":"16"})"));
  expect_refusal("binary_data has an unexpected type: a string",
                 request_json(R"("shape":[1,2])", R"(,"outputs":[{"parameters":{"binary_data":"yes"}}])"));
}

TEST(ServeProtocol, IgnoresUnknownKeys) {
  const std::string known = R"("shape":[1,2],"datatype":"FP32","data":[1,2])";
  const std::string of_input =
      R"(,"extra":{"name":[1,{"shape":2}]},"parameters":{"x":[1,{}],"y":null,"z":2})";
  const std::string parameters = R"("timeout":5,"priority":null,"deep":{"binary_data_output":true})";
  const std::string body = request_json(
      known + of_input, R"(,"model_version":"1","parameters":{)" + parameters + R"(},"more":[[1]])");
  EXPECT_EQ(read(body).samples.values, (std::vector<float>{1, 2}));
  EXPECT_FALSE(read(body).binary_output);
}

TEST(ServeProtocol, ChoosesTheFormOfTheOutput) {
  const std::string known = R"("shape":[1,2],"datatype":"FP32","data":[1,2])";
  const auto binary = [&](const std::string& rest) { return read(request_json(known, rest)).binary_output; };
  const std::string all = R"(,"parameters":{"binary_data_output":true})";
  const auto output = [](const std::string& parameters) {
    return R"(,"outputs":[{"name":"output0")" + parameters + "}]";
  };
  EXPECT_FALSE(binary(""));
  EXPECT_TRUE(binary(all));
  EXPECT_TRUE(binary(output(R"(,"parameters":{"binary_data":true})")));
  EXPECT_TRUE(binary(all + output("")));
  EXPECT_FALSE(binary(all + output(R"(,"parameters":{"binary_data":false})")));
  // The parameter of the request does not count inside an output, nor the other way round.
  EXPECT_FALSE(binary(R"(,"parameters":{"binary_data":true})"));
  EXPECT_FALSE(binary(output(R"(,"parameters":{"binary_data_output":true})")));
}

TEST(ServeProtocol, ReadsPixels) {
  const std::vector<uint8_t> expected = {0, 255};
  const InferRequest numbers = read(request_json(R"("shape":[1,2],"datatype":"UINT8","data":[0,255])"));
  EXPECT_EQ(numbers.samples.pixels, expected);
  EXPECT_TRUE(numbers.samples.values.empty());
  EXPECT_EQ(values_of(expected, my_model()), (std::vector<float>{-2, 2}));
  const std::string json =
      request_json(R"("shape":[1,2],"datatype":"UINT8","parameters":{"binary_data_size":2})");
  const InferRequest bytes = read(json + std::string("\x00\xff", 2), json.size());
  EXPECT_EQ(bytes.samples.pixels, expected);
  EXPECT_TRUE(bytes.samples.values.empty());
  for (const char* wrong : {"-1", "256", "1.5", "1e30"})
    expect_refusal("UINT8 expects integers from 0 to 255",
                   request_json(R"("shape":[1,2],"datatype":"UINT8","data":[0,)" + std::string(wrong) + "]"));
}

// The JSON before raw tensors is kept parsed for the next request.
TEST(ServeProtocol, ReadsEachRequestForItself) {
  const auto json = [](const std::string& id) {
    return request_json(R"("shape":[2,2],"datatype":"FP32","parameters":{"binary_data_size":16})",
                        R"(,"id":")" + id + "\"");
  };
  const std::string raw = bytes_of(kValues);
  for (const char* id : {"a", "a", "b", "a", "longer"}) {
    const InferRequest request = read_infer_request(json(id) + raw, json(id).size(), my_model());
    EXPECT_EQ(request.id, id);
    EXPECT_EQ(request.samples.values, kValues);
  }
  std::string broken = json("b");
  broken.back() = ' ';
  for (int i = 0; i < 2; ++i) expect_refusal("no valid JSON", broken + raw, broken.size());
  // The same text for a model that takes less.
  const std::string numbers = request_json(R"("shape":[2,2],"datatype":"FP32","data":[1,2,3,4])");
  Signature less = my_model();
  EXPECT_EQ(read_infer_request(numbers, numbers.size(), less).samples.values, kValues);
  less.max_samples = 1;
  expect_error<DataError>([&] { read_infer_request(numbers, numbers.size(), less); },
                          "more than the 2 values");
}

TEST(ServeProtocol, NormalisesEachChannel) {
  Signature signature = my_model();
  signature.input_shape = {2, 1, 2};
  signature.normalisations = {Normalisation(0, 1), Normalisation(1, 0.5f)};
  EXPECT_EQ(values_of({0, 255, 0, 255, 255, 0, 255, 0}, signature),
            (std::vector<float>{0, 1, -2, 0, 1, 0, 0, -2}));
  signature.input_shape = {4, 1, 3};  // channels last
  signature.normalisations = {Normalisation(0, 1), Normalisation(1, 0.5f), Normalisation(0, 0.5f)};
  EXPECT_EQ(values_of({255, 255, 255, 0, 0, 0, 255, 0, 255, 0, 255, 0}, signature),
            (std::vector<float>{1, 0, 2, 0, -2, 0, 1, -2, 2, 0, 0, 0}));
}

TEST(ServeAnswer, HasTheFormOfTheProtocol) {
  InferRequest request;
  request.id = "a \"quoted\" id";
  request.count = 2;
  const std::vector<float> values = {0.1f, -2, 3e-30f, std::numeric_limits<float>::infinity()};
  const InferAnswer text = InferAnswers(my_model()).answer(request, values.data(), values.size());
  EXPECT_EQ(text.json_bytes, text.body.size());
  const Json json = Json::parse(text.body);
  EXPECT_EQ(json["model_name"], "mymodel");
  EXPECT_EQ(json["model_version"], "1");
  EXPECT_EQ(json["id"], *request.id);
  ASSERT_EQ(json["outputs"].size(), 1u);
  const Json& output = json["outputs"][0];
  EXPECT_EQ(output["name"], "output0");
  EXPECT_EQ(output["datatype"], "FP32");
  EXPECT_EQ(output["shape"], Json({2, 2}));
  EXPECT_FALSE(output.contains("parameters"));
  EXPECT_EQ(output["data"].dump(), "[0.1,-2,3e-30,null]");
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(output["data"][i].get<float>(), values[i]);

  request.id.reset();
  request.binary_output = true;
  const InferAnswer binary = InferAnswers(my_model()).answer(request, values.data(), values.size());
  EXPECT_EQ(binary.body.substr(binary.json_bytes), bytes_of(values));
  const Json head = Json::parse(binary.body.substr(0, binary.json_bytes));
  EXPECT_FALSE(head.contains("id"));
  EXPECT_EQ(head["outputs"][0]["parameters"]["binary_data_size"], 16);
  EXPECT_FALSE(head["outputs"][0].contains("data"));
}

TEST(ServeAnswer, DescribesServerAndModel) {
  const Json server = Json::parse(server_json());
  EXPECT_EQ(server["name"], "lenslet");
  EXPECT_EQ(server["extensions"], Json({"binary_tensor_data"}));
  const Json model = Json::parse(model_json(my_model()));
  EXPECT_EQ(model["name"], "mymodel");
  EXPECT_EQ(model["versions"], Json::array({"1"}));
  EXPECT_EQ(model["inputs"], Json::parse(R"([{"name":"input0","datatype":"FP32","shape":[-1,2]}])"));
  EXPECT_EQ(model["outputs"], Json::parse(R"([{"name":"output0","datatype":"FP32","shape":[-1,2]}])"));
  EXPECT_EQ(Json::parse(error_json("a \"b\" \xff"))["error"], "a \"b\" \xef\xbf\xbd");
}

}  // namespace
}  // namespace lenslet::serve::test
