// Plans as JSON: what is written is read back, and a wrong member is named.
#include "framework/execution/plan.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "framework/base/error.h"
#include "tests/framework/sample_plan.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

using test::sample_plan;

TEST(Plan, RoundTripsThroughJson) {
  const Plan plan = sample_plan();
  const Plan again = Plan::from_json(plan.to_json(), "memory");
  EXPECT_EQ(again.to_json(), plan.to_json());
  EXPECT_EQ(again.layers[0].math, MathMode::kTf32);
  EXPECT_EQ(again.math(), MathMode::kTf32) << "the least exact of them";
  EXPECT_EQ(again.layers[0].choice, "WINOGRAD");
  EXPECT_EQ(again.layers[1].fused_into, "conv1");
}

std::string with(const std::function<void(nlohmann::json&)>& change) {
  nlohmann::json json = nlohmann::json::parse(sample_plan().to_json());
  change(json);
  return json.dump();
}

// As many layers as an ONNX model may have.
TEST(Plan, HoldsTheLayersOfTheDeepestNetwork) {
  Plan plan = sample_plan();
  plan.layers.assign(4096, plan.layers[0]);
  for (size_t i = 0; i < plan.layers.size(); ++i)
    plan.layers[i].name = "a/long/name/of/layer/" + std::to_string(i);
  EXPECT_EQ(Plan::from_json(plan.to_json(), "memory").to_json(), plan.to_json());
}

TEST(Plan, NamesWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "not JSON"},
      {with([](auto& j) { j.erase("model"); }).substr(1) + "x", "not JSON"},
      // Valid JSON, nested so deep that printing it would overflow the stack.
      {"{\"schema\": \"lenslet.plan/1\", \"model\": " + std::string(400'000, '[') +
           std::string(400'000, ']') + "}",
       "nested deeper"},
      {R"({"schema": "lenslet.plan/1", "schema": "lenslet.plan/1"})", "key \"schema\" appears twice"},
      {with([](auto& j) {
         for (int i = 0; i < 2000; ++i) j["key" + std::to_string(i)] = i;
       }),
       "at most 1024 keys"},
      {with([](auto& j) {
         for (int i = 0; i < 5000; ++i) j["layers"].push_back(i);
       }),
       "at most 4096 layers, found 5002"},
      {"[]", "must be an object, found array"},
      {sample_plan().to_json() + std::string(1, '\0') + "{\"hidden\": 1}",
       "a NUL at byte " + std::to_string(sample_plan().to_json().size())},
      {with([](auto& j) { j["device_name"] = "GPU\x1b[2J"; }), "printable text, found \"GPU\\x1b[2J\""},
      {with([](auto& j) { j["layers"][0]["backend"] = std::string(100'000, 'x'); }), "at most 500 bytes"},
      {std::string(5 << 20, '['), "at most"},
      {with([](auto& j) { j.erase("schema"); }), "lacks \"schema\""},
      {with([](auto& j) { j["schema"] = "lenslet.plan/9"; }), "found \"lenslet.plan/9\""},
      {with([](auto& j) { j["batch"] = -1; }), "\"batch\" of the plan must be a whole number >= 0, found -1"},
      {with([](auto& j) { j["batch"] = 1.5; }), "whole number"},
      {with([](auto& j) { j["device"] = "tpu"; }), "must be \"cpu\" or \"cuda:N\""},
      {with([](auto& j) { j["layers"] = 3; }), "must be an array"},
      {with([](auto& j) { j["layers"][0] = 3; }), "layer 0 must be an object"},
      {with([](auto& j) { j["layers"][0]["math"] = "fp8"; }), "layer conv1: math mode must be"},
      {with([](auto& j) { j["layers"][0]["backend"] = 7; }),
       "\"backend\" of layer 0 must be a string, found 7"},
      {with([](auto& j) { j["layers"][1]["name"] = "conv1"; }), "layer conv1 is listed twice"},
  };
  for (const auto& [text, fragment] : cases) {
    SCOPED_TRACE(text.substr(0, 200));
    const auto read = [&, &text = text] { Plan::from_json(text, "plan.json"); };
    EXPECT_EQ(expect_error<DataError>(read, fragment).rfind("plan.json: ", 0), 0u);
  }
}

}  // namespace
}  // namespace lenslet
