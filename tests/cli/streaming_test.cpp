// eval --repeat and --streams: a data set streamed repeatedly.
#include <sstream>

#include "tests/cli/fixtures/files.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

TEST(Streaming, TheCpuRepeatsTheDataSet) {
  // 20 images in chunks of 7: chunks cross the end of the data set, the last one is shorter.
  expect_run(run_line("{eval} --plan layered --batch-size 7 --repeat 11 --json {dir}/out/stream.json --csv "
                      "{dir}/out/stream.csv"),
             kOk, "220 images (11 passes)|every result bit for bit that of a plain");
  const json document = read_json("{dir}/out/stream.json"), sustained = document.at("sustained");
  expect_members(sustained, {{"images", 220},
                             {"passes", 11},
                             {"streams", 1},
                             {"chunk", 7},
                             {"input", "fp32"},
                             {"image_bytes", 3136},
                             {"stored_images", 220},
                             {"differing", 0},
                             {"correct", 11 * document.at("correct").get<int64_t>()},
                             {"bus_bytes_per_s", nullptr},  // the CPU reads host memory directly
                             {"bus_fraction", nullptr}});
  EXPECT_DOUBLE_EQ(sustained.at("accuracy").get<double>(), document.at("accuracy").get<double>());
  EXPECT_GT(sustained.at("images_per_s").get<double>(), 0);
  EXPECT_FALSE(sustained.at("window_ns_per_image").is_null());
  std::istringstream csv(read_text(expand("{dir}/out/stream.csv")));
  std::string heading, line;
  std::getline(csv, heading);
  std::getline(csv, line);
  expect_words(heading, "streams,chunk,passes,sustained_images_per_s,bus_bytes_per_s,bus_fraction");
  expect_words(line, ",1,7,11,");
  EXPECT_EQ(line.substr(line.size() - 2), ",,") << line;
}

TEST(Streaming, TheFusedPlanReadsBytesAndWritesPredictions) {
  expect_run(
      run_line("{eval} --plan fused --input uint8 --batch-size 7 --repeat 3 --json {dir}/out/bytes.json"),
      kOk);
  const json document = read_json("{dir}/out/bytes.json");
  expect_members(document.at("sustained"), {{"image_bytes", 784},
                                            {"output", "prediction"},
                                            {"result_bytes", 8},
                                            {"differing", 0},
                                            {"correct", 3 * document.at("correct").get<int64_t>()}});
}

TEST(Streaming, PackedPixelsAreHalfTheBytes) {
  const ProgramRun run = expect_run(
      run_line("{eval} --plan fused --input uint4 --batch-size 7 --repeat 3 --json {dir}/out/pairs.json"),
      kOk, "uint4 in, 392 bytes per image (packed before the clock started)");
  const json document = read_json("{dir}/out/pairs.json");
  expect_members(document.at("sustained"), {{"image_bytes", 392},
                                            {"input", "uint4"},
                                            {"differing", 0},
                                            {"correct", 3 * document.at("correct").get<int64_t>()}});
}

TEST(Streaming, IsOffByDefault) {
  const ProgramRun run = expect_run(run_line("{eval} --json {dir}/out/plain.json"), kOk);
  EXPECT_TRUE(read_json("{dir}/out/plain.json").at("sustained").is_null());
  EXPECT_EQ(run.out.find("streaming:"), std::string::npos);
}

}  // namespace
}  // namespace lenslet::test
