// lenslet inspect, and --model with a file that PyTorch wrote.
#include <map>

#include "tests/cli/fixtures/files.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

TEST(Inspect, DescribesLenet5) {
  const ProgramRun run = expect_run(run_line("{inspect}/lenet5.onnx --json {dir}/out/inspect.json"), kOk,
                                    "Lenslet runs this model");
  EXPECT_NE(run.out.find("input: float batchx1x28x28"), std::string::npos) << run.out;
  const json document = read_json("{dir}/out/inspect.json");
  expect_members(document, {{"schema", "lenslet.inspect/1"},
                            {"opset", 13},
                            {"parameters", 44426},
                            {"macs", 281640.0},
                            {"runs", true},
                            {"difference", nullptr}});
  expect_members(document.at("nodes").at(0), {{"operator", "Conv"},
                                              {"output", "1x6x24x24"},
                                              {"parameters", 156},
                                              {"macs", 86400.0},
                                              {"layer", "conv2d"}});
}

TEST(Inspect, ListsWhatLensletCannotRun) {
  const ProgramRun run = expect_run(run_line("{inspect}/acos.onnx"), kOk, "does not run this model");
  EXPECT_NE(run.out.find("y_node: operator Acos is not supported"), std::string::npos) << run.out;
}

TEST(Inspect, DescribesAnotherNetworkThatRuns) {
  const std::string model = LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx";
  const ProgramRun run = expect_run(run_line("lenslet inspect " + model + " --json {dir}/out/inspect.json"),
                                    kOk, "layer by layer");
  const json document = read_json("{dir}/out/inspect.json");
  expect_members(document, {{"parameters", 666}, {"macs", 106656.0}, {"runs", true}});
  expect_members(document.at("nodes").at(1), {{"operator", "BatchNormalization"}, {"layer", "folded"}});
  const json& stem = document.at("layers").at(0);
  expect_members(stem, {{"layer", "stem"}, {"type", "conv2d"}, {"device", "cpu"}});
  EXPECT_EQ(stem.at("backends").at(0), "direct");
  for (const json& layer : document.at("layers")) {
    EXPECT_FALSE(layer.at("backends").empty()) << layer;
    for (const json& refused : layer.at("refused")) expect_words(refused, ": ");
  }
  // The normalised stem is in use while the next convolution writes: 2 x 8x16x16 values.
  EXPECT_GE(document.at("activation_bytes").get<int>(), 2 * 8 * 16 * 16 * 4);
}

// Without a usable GPU its rows are in the file and behind --verbose.
TEST(Inspect, ListsTheBackendsOfAMissingGpuOnRequest) {
  ProgramOptions hidden;
  hidden.environment = {{"CUDA_VISIBLE_DEVICES", "-1"}};
  const std::string line = "lenslet inspect " LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx --wide";
  const auto has_rows_of_gpu = [&](const std::string& flags) {
    const std::string out = expect_run(run_line(line + flags, hidden), kOk, "stem").out;
    return out.find(" cuda ") != std::string::npos;
  };
  bool built = false;
  expect_run(run_line(line + " --json {dir}/out/hidden.json", hidden), kOk, "stem");
  const json document = read_json("{dir}/out/hidden.json");
  for (const json& layer : document.at("layers")) built = built || layer.at("device") == "cuda";
  EXPECT_FALSE(has_rows_of_gpu(""));
  EXPECT_EQ(has_rows_of_gpu(" --verbose"), built);
}

TEST(Inspect, TakesNoneOfTheMemoryThatItStates) {
  ProgramOptions options;
  options.environment = {{"LENSLET_DEVICE_MEMORY_LIMIT", "64M"}};
  expect_run(run_line("{inspect}/giant.onnx --json {dir}/out/giant.json", options), kOk,
             "8.00 GiB of activations");
  expect_members(read_json("{dir}/out/giant.json"), {{"activation_bytes", int64_t{2} << 32}});
}

TEST(Inspect, AnotherNetworkIsProfiledAndReadsPictures) {
  const std::string model = " --model " LENSLET_SOURCE_DIR "/tests/models/onnx/mean_pool.onnx";
  const ProgramRun run = expect_run(
      lenslet("profile --device cpu --min-time-ms 1 --warmup-ms 0 --backend stem=im2col_gemm" + model), kOk,
      "stem+relu1");
  for (const char* text : {"im2col_gemm", "of the fp64 reference"})
    EXPECT_NE(run.out.find(text), std::string::npos) << text << " in\n" << run.out;
  expect_run(lenslet("classify" + model + " " LENSLET_SOURCE_DIR "/samples/digit_3_a.png"), kOk, "then");
  expect_run(lenslet("backends --device cpu" + model), kOk, "pointwise");
}

// ./dev bench --part layers profiles this network, whose layers have the names of the kernels that a GPU launches.
TEST(Inspect, TheNetworkOfTheOtherKernelsIsProfiled) {
  const std::string model = " --model " LENSLET_SOURCE_DIR "/tests/models/onnx/kernels.onnx";
  const ProgramRun run =
      expect_run(lenslet("profile --device cpu --cache hot --min-time-ms 1 --warmup-ms 0 --wide" + model),
                 kOk, "conv_direct_any_pool+relu+pool");
  for (const char* text :
       {"relu_direct", "activation_direct", "lrn_direct", "pairwise_direct_same", "pairwise_direct_strided",
        "rearrange_copy", "rearrange_fill", "pool_direct_2x2", "pool_direct_any", "pool_direct_plane",
        "softmax_direct", "softmax_direct_columns", "conv_depthwise_any", "of the fp64 reference"})
    EXPECT_NE(run.out.find(text), std::string::npos) << text << " in\n" << run.out;
}

// Every layer by every backend that can compute it, alone and fused, and the whole pass.
TEST(Doctor, TestsTheLayersOfANetwork) {
  const std::string model = " --model " LENSLET_SOURCE_DIR "/tests/models/onnx/separable.onnx";
  const ProgramRun run =
      expect_run(lenslet("doctor --device cpu --json {dir}/out/doctor_model.json" + model), kOk,
                 "self-test of separable: cpu:|every backend that can run here computes separable correctly");
  std::map<std::string, json> rows;
  const json document = read_json("{dir}/out/doctor_model.json");
  for (const json& row : document.at("results")) rows[row.at("name")] = row;
  for (const char* name : {"cpu /depthwise/Conv depthwise", "cpu /depthwise/Conv depthwise with /Relu, /Clip",
                           "cpu /depthwise/Conv direct", "cpu whole pass, layered"}) {
    ASSERT_EQ(rows.count(name), 1u) << name << " in\n" << document.dump(1);
    EXPECT_EQ(rows[name].at("status"), "PASSED") << rows[name];
    EXPECT_GT(rows[name].at("error").at("checked").get<int>(), 0) << rows[name];
  }
  EXPECT_EQ(rows["cpu /depthwise/Conv depthwise"].at("problem"), "conv2d 3@3x3 stride 1 pad 1 groups 3");
  for (const auto& [name, row] : rows) {
    EXPECT_NE(row.at("status"), "FAILED") << row;
    EXPECT_EQ(row.at("status") == "UNSUPPORTED", !row.at("reason").is_null()) << row;
  }
  expect_run(lenslet("doctor --device cpu --verbose --model {dir}/m/lenet5.onnx"), kOk,
             "cpu conv1 direct with relu1, pool1|cpu whole pass, fused");
  expect_run(lenslet("doctor --device cpu --model {dir}/m/acos.onnx"), kData, "", "operator Acos");
}

TEST(Inspect, PrintsNamesOfTheFileInsideTheirLine) {
  const std::string producer = "x\nLenslet runs this model: forged";
  const std::string model = read_text(LENSLET_SOURCE_DIR "/tests/models/onnx/separable.onnx");
  const std::string field_2 = std::string("\x12") + static_cast<char>(producer.size()) + producer;
  write_file("{dir}/out/forged.onnx", model + field_2);  // the last one counts
  const ProgramRun run = expect_run(run_line("lenslet inspect {dir}/out/forged.onnx"), kOk, "by x\\nLenslet");
  EXPECT_EQ(run.out.find("\nLenslet runs this model: forged"), std::string::npos) << run.out;
}

TEST(Inspect, AnOnnxFileGivesTheAnswersOfItsWeights) {
  expect_run(run_line("{eval} --logits {dir}/out/built_in.npy"), kOk);
  expect_run(run_line("{model}/lenet5.onnx --logits {dir}/out/onnx.npy"), kOk);
  EXPECT_EQ(read_text(expand("{dir}/out/onnx.npy")), read_text(expand("{dir}/out/built_in.npy")));
  expect_run(run_line("{classify} --model {dir}/m/lenet5.onnx " LENSLET_SOURCE_DIR "/samples/digit_3_a.png"),
             kOk, ": 3 ");
}

}  // namespace
}  // namespace lenslet::test
