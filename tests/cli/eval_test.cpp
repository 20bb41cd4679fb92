// What lenslet eval prints and writes: accuracy, replayed plans, the matrix of backends.
#include <cstdlib>
#include <cstring>
#include <set>

#include "tests/cli/expect_environment.h"
#include "tests/cli/fixtures/files.h"
#include "tests/support/logit_tolerances.h"

namespace lenslet::test {
namespace {

using nlohmann::json;

TEST(Eval, CountsLossAndFiles) {
  const ProgramRun run = expect_run(
      run_line("{eval} --batch-size 7 --json {dir}/out/eval.json --csv {dir}/out/eval.csv --misses "
               "{dir}/out/misses.csv --logits {dir}/out/logits.npy --contact-sheet {dir}/out/sheet.png "
               "--save-plan {dir}/out/plan.json"),
      kOk);
  expect_words(run.out, " for all 20 images, p10 | runs), | a pass of 7, p10 ");
  const json document = read_json("{dir}/out/eval.json");
  EXPECT_EQ(document.at("schema"), "lenslet.eval/1");
  expect_environment(document);
  EXPECT_EQ(document.at("count"), 20);
  const int correct = document.at("correct");
  EXPECT_EQ(static_cast<size_t>(20 - correct), document.at("misses").size());
  int diagonal = 0, total = 0;
  for (size_t i = 0; i < 10; ++i) {
    diagonal += document.at("confusion")[i][i].get<int>();
    for (const json& cell : document.at("confusion")[i]) total += cell.get<int>();
  }
  EXPECT_EQ(diagonal, correct);
  EXPECT_EQ(total, 20);
  EXPECT_LE(document.at("accuracy_interval_95")[0].get<double>(), document.at("accuracy").get<double>());
  const json& throughput = document.at("throughput");
  EXPECT_TRUE(throughput.at("bitwise_repeatable").get<bool>());
  // Short passes are repeated for a tenth of a second.
  const int passes = throughput.at("passes");
  EXPECT_GE(passes, 5);
  EXPECT_GE(passes * throughput.at("pass_ns").at("max").get<double>(), 1e8);
  // The rate of passes of seven images with the input on the device is that of their median, and has a spread.
  const json& pass = throughput.at("device_pass_ns");
  EXPECT_NEAR(throughput.at("device_images_per_s").get<double>() * pass.at("median").get<double>(), 7e9, 7e3);
  EXPECT_GT(throughput.at("device_samples").get<int>(), 1);
  EXPECT_LE(pass.at("p10").get<double>(), pass.at("p90").get<double>());
  const std::string npy = read_text(expand("{dir}/out/logits.npy"));
  EXPECT_EQ(npy.substr(1, 5), "NUMPY");
  EXPECT_EQ(npy.size(), 128u + 20 * 10 * sizeof(float));
  EXPECT_EQ(read_text(expand("{dir}/out/sheet.png")).substr(0, 4), "\x89PNG");
  EXPECT_EQ(count_lines(read_text(expand("{dir}/out/misses.csv"))), 21 - correct);
  // Columns as docs/result_files.md lists them: of lists, of the interval, and of `throughput` without a prefix.
  const std::string csv = read_text(expand("{dir}/out/eval.csv"));
  for (const std::string column : {"backends", "low_95", "high_95", "images_per_s", "device_images_per_s",
                                   "device_pass_p10_ns", "device_samples", "pass_p10_ns", "pass_samples"}) {
    EXPECT_NE(csv.substr(0, csv.find('\n')).find("," + column + ","), std::string::npos) << column;
  }
}

TEST(Eval, TheContactSheetCanBeReadAgain) {
  for (const std::string file : {"{dir}/out/again.png", "{dir}/out/again.pgm"}) {
    expect_run(run_line("{eval} --contact-sheet " + file), kOk);
    expect_run(run_line("{classify} " + file), kOk);
  }
}

TEST(Eval, APlanIsReplayedBitForBit) {
  expect_run(
      run_line("{eval} --backend conv1=im2col_gemm --save-plan {dir}/out/p.json --logits {dir}/out/a.raw"),
      kOk);
  const ProgramRun replay = expect_run(
      run_line("{eval} --plan {dir}/out/p.json --logits {dir}/out/b.safetensors"), kOk, "conv1 im2col_gemm");
  EXPECT_TRUE(replay.err.empty()) << replay.err;
  const std::string plan = read_text(expand("{dir}/out/p.json"));
  EXPECT_EQ(plan.substr(plan.size() - 3), "\n}\n");
  const std::string a = read_text(expand("{dir}/out/a.raw")),
                    b = read_text(expand("{dir}/out/b.safetensors"));
  ASSERT_EQ(a.size(), 20 * 10 * sizeof(float));
  EXPECT_EQ(a, b.substr(b.size() - a.size()));
}

TEST(Eval, APlanMadeElsewhereIsReplayedWithANote) {
  expect_run(run_line("{eval} --save-plan {dir}/out/here.json"), kOk);
  json plan = read_json("{dir}/out/here.json");
  plan["device_name"] = "a GPU of another make";
  write_file("{dir}/out/elsewhere.json", plan.dump());
  const ProgramRun run = expect_run(run_line("{eval} --plan {dir}/out/elsewhere.json"), kOk, "",
                                    "elsewhere.json was made by version|a GPU of another make");
  EXPECT_EQ(count_lines(run.err), 1) << run.err;
}

TEST(Eval, TheDefaultFolderIsData) {
  expect_run(lenslet("eval --device cpu --limit 5"), kOk, "5 of 20 images");
}

TEST(Eval, WithoutDataTheErrorNamesTheDownload) {
  ProgramOptions options;
  options.folder = fixture_folder() + "/away";
  expect_run(lenslet("eval --device cpu", options), kData, "", "./dev mnist");
}

TEST(Eval, BelowMinAccuracyIsACheckThatFailed) {
  expect_run(run_line("{eval} --min-accuracy 0.9 --json {dir}/out/low.json"), kCheckFailed, "",
             "--min-accuracy");
  EXPECT_EQ(read_json("{dir}/out/low.json").at("count"), 20);
}

TEST(Eval, LogitsThatAreNotNumbersAreACheckThatFailed) {
  expect_run(run_line("{weights}/largest.safetensors --json {dir}/out/nan.json --misses {dir}/out/nan.csv "
                      "--contact-sheet {dir}/out/nan.pgm"),
             kCheckFailed, "", "not numbers");
  const json document = read_json("{dir}/out/nan.json");
  EXPECT_EQ(document.at("not_numbers"), 20);
  EXPECT_TRUE(document.at("loss").is_null());
  EXPECT_TRUE(document.at("misses").at(0).at("predicted").is_null());
  const ProgramRun one = expect_run(
      run_line("{classify} --weights {dir}/w/largest.safetensors {dir}/pics/one.pgm --json -"), kCheckFailed);
  EXPECT_TRUE(parse_json(one.out).at("results").at(0).at("digit").is_null());
}

TEST(Eval, TheMatrixRunsEveryCombination) {
  expect_run(run_line("{eval} --backend-matrix --json {dir}/out/matrix.json"), kOk);
  const json document = read_json("{dir}/out/matrix.json");
  EXPECT_EQ(document.at("schema"), "lenslet.matrix/1");
  std::set<std::string> specs;
  for (const json& row : document.at("rows")) {
    specs.insert(row.at("backends").get<std::string>() + " " + row.at("math").get<std::string>());
    EXPECT_TRUE(row.at("status") != "PASSED" ||
                row.at("max_logit_difference").get<double>() < kLogitTolerance)
        << row.dump();
  }
  EXPECT_EQ(specs.size(), document.at("rows").size());
  for (const char* a : {"direct", "im2col_gemm"}) {
    for (const char* b : {"direct", "im2col_gemm"}) {
      for (const char* linear : {"direct", "gemm"}) {
        const std::string fc = std::string(",fc1=") + linear + ",fc2=direct,fc3=gemm";
        EXPECT_EQ(specs.count(std::string("conv1=") + a + ",conv2=" + b + fc + " fp32"), 1u)
            << a << " " << b << fc;
      }
    }
  }
}

TEST(Eval, TheMatrixLeavesAloneWhatBackendPins) {
  expect_run(
      run_line("{eval} --backend-matrix --backend conv1=direct,fc1=direct,fc2=direct,fc3=direct --json "
               "{dir}/out/pinned.json"),
      kOk);
  const json pinned = read_json("{dir}/out/pinned.json");
  for (const json& row : pinned.at("rows")) {
    if (row.at("status") == "UNSUPPORTED") continue;  // names only the layer that a backend refuses
    EXPECT_EQ(row.at("backends").get<std::string>().rfind("conv1=direct,conv2=", 0), 0u) << row.dump();
  }
}

TEST(Eval, Mnist) {
  const char* const folder = std::getenv("LENSLET_MNIST_DIR");
  if (folder == nullptr) GTEST_SKIP() << "LENSLET_MNIST_DIR is not set";
  const std::string line = "eval --device cpu --min-accuracy 0.996 --json {dir}/out/mnist.json --data ";
  expect_run(lenslet(line + folder), kOk);
  expect_members(read_json("{dir}/out/mnist.json"), {{"count", 10000}, {"correct", 9963}});
}

}  // namespace
}  // namespace lenslet::test
