// eval --repeat and --streams: a data set streamed again and again.
#include <gtest/gtest.h>

#include <fstream>

#include "tests/cli/fixture_files.h"
#include "tests/cli/read_json.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

TEST(Streaming, TheCpuRepeatsTheDataSet) {
  // 20 images in chunks of 7: chunks cross the end of the data set, the last one is shorter.
  const ProgramRun run = lenslet(
      "eval --device cpu --plan layered --data {dir}/data --batch-size 7 --repeat 11 --json "
      "{dir}/out/stream.json "
      "--csv {dir}/out/stream.csv");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_NE(run.out.find("220 images (11 passes)"), std::string::npos) << run.out;
  EXPECT_NE(run.out.find("every result bit for bit that of a plain pass"), std::string::npos) << run.out;
  const json document = read_json("{dir}/out/stream.json"), sustained = document.at("sustained");
  EXPECT_EQ(sustained.at("images"), 220);
  EXPECT_EQ(sustained.at("passes"), 11);
  EXPECT_EQ(sustained.at("streams"), 1);
  EXPECT_EQ(sustained.at("chunk"), 7);
  EXPECT_EQ(sustained.at("input"), "fp32");
  EXPECT_EQ(sustained.at("image_bytes"), 3136);
  EXPECT_EQ(sustained.at("stored_images"), 220);
  EXPECT_EQ(sustained.at("differing"), 0);
  EXPECT_EQ(sustained.at("correct"), 11 * document.at("correct").get<int64_t>());
  EXPECT_DOUBLE_EQ(sustained.at("accuracy").get<double>(), document.at("accuracy").get<double>());
  EXPECT_GT(sustained.at("images_per_s").get<double>(), 0);
  EXPECT_EQ(sustained.at("window_ns_per_image").is_null(), false);
  EXPECT_TRUE(sustained.at("bus_bytes_per_s").is_null()) << "the CPU reads host memory itself";
  EXPECT_TRUE(sustained.at("bus_fraction").is_null());
  std::ifstream csv(expand("{dir}/out/stream.csv"));
  std::string heading, line;
  std::getline(csv, heading);
  std::getline(csv, line);
  EXPECT_NE(heading.find("streams,chunk,passes,sustained_images_per_s,bus_bytes_per_s,bus_fraction"),
            std::string::npos);
  EXPECT_NE(line.find(",1,7,11,"), std::string::npos) << line;
  EXPECT_EQ(line.substr(line.size() - 2), ",,") << line;
}

TEST(Streaming, TheFusedPlanReadsBytesAndWritesPredictions) {
  const ProgramRun run = lenslet(
      "eval --device cpu --plan fused --input uint8 --data {dir}/data --batch-size 7 --repeat 3 --json "
      "{dir}/out/bytes.json");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  const json document = read_json("{dir}/out/bytes.json"), sustained = document.at("sustained");
  EXPECT_EQ(sustained.at("image_bytes"), 784);
  EXPECT_EQ(sustained.at("output"), "prediction");
  EXPECT_EQ(sustained.at("result_bytes"), 8);
  EXPECT_EQ(sustained.at("differing"), 0);
  EXPECT_EQ(sustained.at("correct"), 3 * document.at("correct").get<int64_t>());
}

TEST(Streaming, NobodyIsStreamedUnasked) {
  const ProgramRun run = lenslet("eval --device cpu --data {dir}/data --json {dir}/out/plain.json");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(read_json("{dir}/out/plain.json").at("sustained").is_null());
  EXPECT_EQ(run.out.find("streaming:"), std::string::npos);
}

TEST(Streaming, TheCpuHasNoStreams) {
  const ProgramRun run = lenslet("eval --device cpu --data {dir}/data --streams 2");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_NE(run.err.find("--repeat works alone"), std::string::npos) << run.err;
}

TEST(Streaming, BadCountsAreUsageErrors) {
  const std::pair<const char*, const char*> cases[] = {
      {"--repeat 0", "--repeat"}, {"--repeat -1", "--repeat"},
      {"--streams 0", "1 to 64"}, {"--streams 65", "1 to 64"},
      {"--streams two", "'two'"}, {"--backend-matrix --repeat 2", "belong to one run"}};
  for (const auto& [arguments, told] : cases) {
    const ProgramRun run = lenslet(std::string("eval --device cpu --data {dir}/data ") + arguments);
    EXPECT_EQ(run.exit_code, 2) << arguments << run.err;
    EXPECT_NE(run.err.find(told), std::string::npos) << run.err;
  }
}

}  // namespace
}  // namespace lenslet::test
