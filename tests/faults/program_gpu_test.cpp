// The programs on a GPU whose kernel writes out of bounds, traps, hangs or cannot be launched: the message names the
// layer, the exit code is 5, and earlier results are kept. A process with a lost device ends by itself with one line.
#include "framework/base/error.h"
#include "framework/device/device.h"
#include "framework/tensor/tensor.h"
#include "tests/faults/program_faults.h"
#include "tests/support/gpu.h"

namespace lenslet::test {
namespace {

using nlohmann::json;
using Environment = std::map<std::string, std::string>;

Environment planted(const std::string& fault, int runs_before = 0, Environment more = {}) {
  more["LENSLET_MODULE_PATH"] = LENSLET_FAULTY_GPU_MODULE_DIR;
  more["LENSLET_TEST_GPU_FAULT"] = fault;
  more["LENSLET_TEST_RUNS_BEFORE_FAULT"] = std::to_string(runs_before);
  return more;
}

const std::string kEval =
    "lenslet eval --device cuda --data {dir} --backend conv2=cudnn --json {dir}/eval.json";
const std::string kLayer = "layer conv2 (cudnn)", kIllegal = "cudaErrorIllegalAddress";

TEST(ProgramFaultsGpu, AWildWriteIsReportedWithItsLayer) {
  LENSLET_SKIP_WITHOUT_GPU();
  expect_fault(run_with(kEval, planted("wild")), kLayer + "|" + kIllegal + "|after 0 of 40 images");
  EXPECT_EQ(marked_file("eval.json", kLayer).at("count"), 0);
  expect_fault(run_with(kEval + " --graph on", planted("wild")),
               kLayer + "|" + kIllegal + "|after 0 of 40 images");
  EXPECT_EQ(marked_file("eval.json", kLayer).at("count"), 0);
  expect_fault(
      run_with(
          "lenslet profile --device cuda --backend conv2=cudnn --min-time-ms 5 --json {dir}/profile.json",
          planted("wild")),
      kLayer + "|" + kIllegal);
  marked_file("profile.json", kLayer);
  expect_fault(run_with("lenslet classify --device cuda --backend conv2=cudnn --json {dir}/classify.json "
                        "{dir}/t10k-images-idx3-ubyte",
                        planted("wild")),
               kLayer + "|" + kIllegal);
  EXPECT_EQ(marked_file("classify.json", kLayer).at("results").size(), 0u);
}

TEST(ProgramFaultsGpu, ALateOneKeepsWhatWasDone) {
  LENSLET_SKIP_WITHOUT_GPU();
  // The first call, two batches, then the fault, with the next batch already enqueued.
  expect_fault(run_with(kEval + " --batch-size 8", planted("wild", 3)),
               kIllegal + "|of 40 images|LENSLET_CHECK_LAYERS=1");
  EXPECT_GE(marked_file("eval.json", kIllegal).at("count"), 8);
  expect_fault(run_with(kEval + " --batch-size 8", planted("wild", 3, {{"LENSLET_CHECK_LAYERS", "1"}})),
               kLayer + "|" + kIllegal);
  EXPECT_GE(marked_file("eval.json", kLayer).at("count"), 8);
}

// The first pass waits after each layer, the second is captured.
TEST(ProgramFaultsGpu, ACaptureThatFailsIsReportedWithWhatWasDone) {
  LENSLET_SKIP_WITHOUT_GPU();
  for (const char* batch : {"", " --batch-size 8"}) {
    expect_fault(run_with(kEval + batch, planted("capture")),
                 "could not be captured as a CUDA graph: " + kLayer +
                     "|cudaErrorStreamCapture|graph off captures none|after 0 of 40 images");
    EXPECT_EQ(marked_file("eval.json", "could not be captured").at("cuda_graph"), false);
    expect_run(run_with(kEval + batch + " --graph off", planted("capture")), kOk, "of 40 = ");
    EXPECT_EQ(result_file("eval.json").at("cuda_graph"), false);
  }
  expect_run(run_with(kEval + " --batch-size 8", planted("none")), kOk, "of 40 = ");
  EXPECT_EQ(result_file("eval.json").at("cuda_graph"), true);
}

TEST(ProgramFaultsGpu, AGraphHidesTheLayersThatACheckWaitsFor) {
  LENSLET_SKIP_WITHOUT_GPU();
  expect_run(run_with(kEval + " --graph on", {{"LENSLET_CHECK_LAYERS", "1"}}), kUsage, "",
             "LENSLET_CHECK_LAYERS=1 waits after each|capture no graph");
}

TEST(ProgramFaultsGpu, CandidatesAndSelfTestsAreNamed) {
  LENSLET_SKIP_WITHOUT_GPU();
  expect_fault(
      run_with(
          "lenslet tune --device cuda --batch-size 4 --plan layered --warmup-ms 0 --min-time-ms 2 --json "
          "{dir}/tune.json",
          planted("wild")),
      "conv2|cudnn|" + kIllegal);
  marked_file("tune.json", kIllegal);
  expect_fault(
      run_with("convbench run --device cuda --backend direct,cudnn --problem mb1ic3ih12oc16kh5 --problem "
               "mb1ic6ih12oc16kh5 --warmup-ms 0 --min-time-ms 2 --json {dir}/bench.json",
               planted("wild")),
      "cudnn|" + kIllegal);
  EXPECT_GE(marked_file("bench.json", "cudnn").at("results").size(), 1u) << "the first problem was measured";
  const Environment anywhere = planted("wild", 0, {{"LENSLET_TEST_FAULT_ANYWHERE", "1"}});
  expect_run(run_with("lenslet doctor --device cuda", anywhere), kDevice, "ERROR: cuda:0 conv2d cudnn",
             "cuda:0 conv2d cudnn");
}

TEST(ProgramFaultsGpu, ATrapIsReportedWithItsLayer) {
  LENSLET_SKIP_WITHOUT_GPU();
  expect_fault(run_with(kEval, planted("trap")), kLayer + "|a kernel failed");
}

TEST(ProgramFaultsGpu, AHangEndsInTime) {
  LENSLET_SKIP_WITHOUT_GPU();
  const ProgramRun run = run_with(kEval, planted("hang", 0, {{"LENSLET_DEVICE_TIMEOUT", "2"}}));
  expect_fault(run, kLayer + "|did not finish within 2 s|LENSLET_DEVICE_TIMEOUT");
  EXPECT_EQ(marked_file("eval.json", "did not finish").at("count"), 0);
  EXPECT_LT(run.seconds, 15);
}

// Later passes do not wait after each layer: copying the answers does.
TEST(ProgramFaultsGpu, AHangAfterTheFirstPassEndsInTime) {
  LENSLET_SKIP_WITHOUT_GPU();
  const Environment late = planted("hang", 3, {{"LENSLET_DEVICE_TIMEOUT", "2"}});
  const ProgramRun run = run_with(kEval + " --batch-size 8", late);
  expect_fault(run, "did not finish within 2 s|of 40 images|LENSLET_DEVICE_TIMEOUT");
  EXPECT_GE(marked_file("eval.json", "did not finish").at("count"), 8);
  EXPECT_LT(run.seconds, 15);
  const ProgramRun classified = run_with(
      "lenslet classify --device cuda --plan layered --backend conv2=cudnn --batch-size 8 "
      "{dir}/t10k-images-idx3-ubyte",
      late);
  expect_fault(classified, "did not finish within 2 s");
  EXPECT_LT(classified.seconds, 15);
}

TEST(ProgramFaultsGpu, ALaunchThatIsRefusedCostsOneRow) {
  LENSLET_SKIP_WITHOUT_GPU();
  // The device is not lost, so the other candidates are measured.
  const ProgramRun run = run_with(
      "convbench run --device cuda --backend cudnn,direct --problem mb1ic6ih12oc16kh5 --warmup-ms 0 "
      "--min-time-ms 2 --json {dir}/shared.json",
      planted("shared"));
  expect_fault(run, "cudnn could not be run|faulty_kernel");
  const json document = result_file("shared.json");
  EXPECT_EQ(document.at("status"), "COMPLETE");
  std::map<std::string, std::string> statuses;
  for (const json& row : document.at("results")) statuses[row.at("backend")] = row.at("status");
  EXPECT_EQ(statuses["cudnn"], "ERROR");
  EXPECT_EQ(statuses["direct"], "PASSED");
  expect_fault(run_with(kEval, planted("shared")), kLayer + "|faulty_kernel");
}

constexpr const char* kOnTwo =
    "lenslet eval --device cuda:0,1 --data {dir} --backend conv2=cudnn --batch-size 4 --json "
    "{dir}/several.json";

// One of two GPUs hangs: the other computes all images.
TEST(ProgramFaultsGpu, OneOfSeveralThatHangsIsNamedAndCostsNoImage) {
  LENSLET_SKIP_WITHOUT_GPU();
  if (cuda_status().devices.size() < 2) GTEST_SKIP() << "needs two GPUs, has one";
  const auto hanging = [](int runs_before, int lost) {
    return planted("hang", runs_before,
                   {{"LENSLET_TEST_FAULT_DEVICE", std::to_string(lost)}, {"LENSLET_DEVICE_TIMEOUT", "2"}});
  };
  for (const int lost : {0, 1}) {
    for (const int runs_before : {0, 2}) {
      SCOPED_TRACE(testing::Message() << "cuda:" << lost << " after " << runs_before);
      expect_run(run_with(kOnTwo, hanging(runs_before, lost)), kOk,
                 "of 40 = ", concat("warning: cuda:", lost, " failed, and the other devices computed"));
      const json document = result_file("several.json");
      EXPECT_EQ(document.at("status"), "COMPLETE");
      EXPECT_EQ(document.at("count"), 40);
      const json& shares = document.at("shares");
      ASSERT_EQ(shares.size(), 2u);
      EXPECT_EQ(shares[static_cast<size_t>(lost)].at("device"), concat("cuda:", lost));
      EXPECT_TRUE(shares[static_cast<size_t>(lost)].at("fault").is_string());
      EXPECT_TRUE(shares[static_cast<size_t>(1 - lost)].at("fault").is_null());
      EXPECT_GE(shares[static_cast<size_t>(1 - lost)].at("images"), 32);
    }
  }
  const ProgramRun classified = run_with(
      "lenslet classify --device cuda:0,1 --plan layered --backend conv2=cudnn --batch-size 4 --json "
      "{dir}/classified.json {dir}/t10k-images-idx3-ubyte",
      hanging(2, 1));
  expect_run(classified, kOk, "", "warning: cuda:1 failed");
  EXPECT_EQ(result_file("classified.json").at("results").size(), 40u);
}

// A kernel fails on one of two GPUs. CUDA ends the work of the process on both, at the latest in eval's later passes.
TEST(ProgramFaultsGpu, AFailingKernelOnOneOfSeveralEndsTheRun) {
  LENSLET_SKIP_WITHOUT_GPU();
  if (cuda_status().devices.size() < 2) GTEST_SKIP() << "needs two GPUs, has one";
  for (const int lost : {0, 1}) {
    for (const int runs_before : {0, 2}) {
      for (const char* fault : {"wild", "trap"}) {
        SCOPED_TRACE(testing::Message() << fault << " on cuda:" << lost << " after " << runs_before);
        expect_fault(run_with(kOnTwo, planted(fault, runs_before,
                                              {{"LENSLET_TEST_FAULT_DEVICE", std::to_string(lost)}})),
                     "every device failed: cuda:0: |; cuda:1: ");
        const json document = result_file("several.json");
        EXPECT_EQ(document.at("status"), "ERROR");
        for (const json& share : document.at("shares")) EXPECT_TRUE(share.at("fault").is_string());
      }
    }
  }
}

TEST(ProgramFaultsGpu, DevicesThatAreNotThere) {
  LENSLET_SKIP_WITHOUT_GPU();
  expect_run(run_with(concat("lenslet profile --device cuda:", cuda_status().devices.size()), {}),
             kUnavailable, "", "this machine has cuda:0");
  for (const char* hidden : {"", "-1", "99"}) {
    const Environment environment = {{"CUDA_VISIBLE_DEVICES", hidden}};
    expect_run(run_with("lenslet profile --device cuda", environment), kUnavailable, "",
               "the driver finds no CUDA device (is CUDA_VISIBLE_DEVICES empty?)");
    expect_run(run_with("lenslet eval --data {dir} --device auto", environment), kOk,
               " on cpu (|CUDA_VISIBLE_DEVICES");
  }
}

TEST(ProgramFaultsGpu, ATimeoutMustBeSeconds) {
  LENSLET_SKIP_WITHOUT_GPU();
  for (const char* text : {"", "-1", "2.5", "soon"})
    expect_run(run_with("lenslet profile --device cuda", {{"LENSLET_DEVICE_TIMEOUT", text}}), kUsage, "",
               "LENSLET_DEVICE_TIMEOUT must be seconds");
}

TEST(ProgramFaultsGpu, AGpuThatOthersFilledIsReported) {
  LENSLET_SKIP_WITHOUT_GPU();
  // The program's own CUDA context must fit.
  const Buffer hog(Device::cuda(), free_memory_bytes(Device::cuda()) - (size_t{2} << 30));
  expect_run(run_with("lenslet profile --device cuda --plan fused --batch-size 1000000 --min-time-ms 1", {}),
             kMemory, "", "batch 1000000 needs | are free|the largest batch that fits is about ");
}

}  // namespace
}  // namespace lenslet::test
