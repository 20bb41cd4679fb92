// eval --streams on a GPU.
#include "tests/cli/fixtures/files.h"
#include "tests/support/gpu.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

void expect_streamed(const std::string& arguments, const char* input, int64_t image_bytes) {
  SCOPED_TRACE(arguments);
  expect_run(lenslet("eval --device cuda --data {dir}/many --json {dir}/out/gpu_stream.json " + arguments),
             kOk);
  const json document = read_json("{dir}/out/gpu_stream.json"), sustained = document.at("sustained");
  expect_members(sustained, {{"images", 60000},
                             {"input", input},
                             {"image_bytes", image_bytes},
                             {"differing", 0},
                             {"correct", 3 * document.at("correct").get<int64_t>()}});
  EXPECT_GT(sustained.at("bus_bytes_per_s").get<double>(), 0);
  EXPECT_GT(sustained.at("bus_fraction").get<double>(), 0);
  EXPECT_LT(sustained.at("bus_fraction").get<double>(), 1.1);
}

TEST(StreamingGpu, LanesGiveWhatAPlainPassGives) {
  LENSLET_SKIP_WITHOUT_GPU();
  // 20,000 images in chunks of 777 through 3 lanes: every lane sees every kind of chunk.
  expect_streamed("--plan layered --batch-size 777 --streams 3 --repeat 3", "fp32", 3136);
  expect_streamed("--plan layered --batch-size 4096 --streams 1 --repeat 3", "fp32", 3136);
  expect_streamed("--plan fused --input uint8 --batch-size 777 --streams 3 --repeat 3", "uint8", 784);
  expect_streamed("--plan fused --input uint8 --batch-size 30000 --streams 5 --repeat 3", "uint8", 784);
  expect_streamed("--plan fused --input uint4 --batch-size 777 --streams 3 --repeat 3", "uint4", 392);
  expect_streamed("--plan fused --input uint4 --math fp16 --batch-size 30000 --streams 5 --repeat 3", "uint4",
                  392);
}

TEST(StreamingGpu, WithoutRepeatItTakesAboutASecond) {
  LENSLET_SKIP_WITHOUT_GPU();
  expect_run(
      lenslet("eval --device cuda --plan layered --data {dir}/many --streams 2 --json {dir}/out/second.json"),
      kOk);
  const double wall_ns = read_json("{dir}/out/second.json").at("sustained").at("wall_ns").get<double>();
  EXPECT_GT(wall_ns, 0.5e9);
  EXPECT_LT(wall_ns, 10e9);
}

}  // namespace
}  // namespace lenslet::test
