// Every documented mistake gets its exit code and a message of one line that names what is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "framework/device.h"
#include "tests/cli/fixture_files.h"

namespace lenslet::test {
namespace {

constexpr int kUsage = 2, kData = 3, kUnavailable = 4, kMemory = 6, kOutput = 7;

struct BadInput {
  const char* name;
  const char* arguments;
  int exit_code;
  const char* fragments;  // of the message, separated by '|'
};

std::ostream& operator<<(std::ostream& out, const BadInput& bad) { return out << bad.arguments; }

constexpr BadInput kCommandLine[] = {
    {"nothing", "", kUsage, "expected a command|classify"},
    {"unknown_command", "clasify x", kUsage, "clasify|did you mean classify"},
    {"far_command", "zzzzzzzz", kUsage, "zzzzzzzz"},
    {"flag_before_command", "--device cpu eval", kUsage, "--device|follow the command"},
    {"global_typo", "--versio", kUsage, "did you mean --version"},
    {"unknown_flag", "eval --backnd direct", kUsage, "--backnd|did you mean --backend"},
    {"unknown_flag_with_value", "eval --treads=2", kUsage, "--treads|did you mean --threads"},
    {"unknown_flag_far", "doctor --zzzzzzzzzzzz", kUsage, "--zzzzzzzzzzzz"},
    {"stray_argument", "doctor extra", kUsage, "extra"},
    {"missing_value", "eval --limit", kUsage, "--limit"},
    {"missing_file", "classify", kUsage, "FILE"},
    {"device_word", "eval --device gpu", kUsage, "gpu|auto, cpu, cuda"},
    {"device_x", "eval --device cuda:x", kUsage, "cuda:x"},
    {"device_negative", "eval --device cuda:-1", kUsage, "cuda:-1"},
    {"device_empty", "eval --device=", kUsage, "device"},
    {"threads_zero", "eval --threads 0", kUsage, "--threads|1 to 1024|'0'"},
    {"threads_negative", "eval --threads -1", kUsage, "--threads|'-1'"},
    {"threads_exponent", "eval --threads 1e3", kUsage, "--threads|'1e3'"},
    {"threads_hex", "eval --threads 0x10", kUsage, "--threads|'0x10'"},
    {"threads_huge", "eval --threads 99999999999999999999", kUsage, "--threads"},
    {"batch_zero", "eval --batch-size 0", kUsage, "--batch-size|'0'"},
    {"batch_overflow", "eval --batch-size 2147483648", kUsage, "--batch-size|2147483648"},
    {"limit_zero", "eval --limit 0", kUsage, "--limit|'0'"},
    {"limit_word", "eval --limit ten", kUsage, "--limit|'ten'"},
    {"accuracy_above_one", "eval --min-accuracy 1.5", kUsage, "--min-accuracy|1.5"},
    {"accuracy_nan", "eval --min-accuracy nan", kUsage, "--min-accuracy|nan"},
    {"accuracy_comma", "eval --min-accuracy 0,99", kUsage, "--min-accuracy|0,99"},
    {"math_unknown", "eval --math fp64", kUsage, "fp64|fp32|tf32"},
    {"workspace_zero", "eval --workspace-limit 0", kUsage, "--workspace-limit|'0'"},
    {"workspace_negative", "eval --workspace-limit -5M", kUsage, "--workspace-limit|'-5M'"},
    {"workspace_unit", "eval --workspace-limit 64X", kUsage, "--workspace-limit|'64X'"},
    {"workspace_overflow", "eval --workspace-limit 99999999999999T", kUsage, "--workspace-limit"},
    {"workspace_fraction", "eval --workspace-limit 1.5G", kUsage, "--workspace-limit|'1.5G'"},
    {"backend_layer", "eval --device cpu --data {dir}/data --backend conv9=direct", kUsage, "conv9"},
    {"backend_typo", "eval --device cpu --data {dir}/data --backend conv1=drect", kUsage, "drect|direct"},
    {"backend_malformed", "eval --device cpu --data {dir}/data --backend conv1=", kUsage, "conv1"},
    {"backend_of_other_device", "eval --device cpu --data {dir}/data --backend cudnn", kUnavailable,
     "'cudnn' runs on cuda, and this run is on cpu|there are: direct"},
    {"layers_backend_of_other_device", "profile --device cpu --backend conv1=winograd", kUnavailable,
     "'winograd' of layer conv1 runs on cuda"},
    {"plan_word", "eval --device cpu --plan turbo", kUsage, "--plan|turbo"},
    {"plan_with_backend", "eval --device cpu --plan x.json --backend direct", kUsage, "--plan|--backend"},
    {"plan_file_with_input", "eval --device cpu --plan x.json --input uint8", kUsage, "--plan|--input"},
    {"input_word", "profile --input fp16", kUsage, "--input|fp32|uint8|'fp16'"},
    {"output_word", "profile --output class", kUsage, "--output|logits|prediction|'class'"},
    {"output_where_logits_are_needed", "eval --device cpu --output prediction", kUsage, "--output"},
    {"input_of_the_layered_plan", "eval --device cpu --data {dir}/data --plan layered --input uint8", kUsage,
     "--input uint8|--plan fused"},
    {"input_with_a_backend", "eval --device cpu --data {dir}/data --backend direct --input uint8", kUsage,
     "--input uint8|--plan fused"},
    {"variant_by_layer", "eval --device cpu --data {dir}/data --plan fused --backend conv1=direct", kUsage,
     "names one variant|conv1=direct|there are"},
    {"variant_unknown", "eval --device cpu --data {dir}/data --plan fused --backend zzzzzz", kUsage,
     "zzzzzz|cpu|there are"},
#ifdef LENSLET_HAS_CUDA
    {"variant_of_other_device", "profile --device cpu --plan fused --backend mma", kUnavailable,
     "'mma' of the fused plan runs on cuda"},
#endif
    {"variant_without_its_plan", "profile --device cpu --backend zzzzzz", kUsage, "zzzzzz"},
    {"matrix_of_the_fused_plan", "eval --device cpu --data {dir}/data --backend-matrix --plan fused", kUsage,
     "--backend-matrix|--plan"},
    {"matrix_of_bytes", "eval --device cpu --data {dir}/data --backend-matrix --input uint8", kUsage,
     "--backend-matrix|--input"},
    {"bench_sizes_word", "bench --batch-sizes many", kUsage, "--batch-sizes|'many'"},
    {"bench_sizes_zero", "bench --batch-sizes 1,0", kUsage, "--batch-sizes|'0'"},
    {"bench_sizes_large", "bench --batch-sizes 1048577", kUsage, "--batch-sizes|1048577"},
    {"bench_sizes_range", "bench --batch-sizes 1:64", kUsage, "--batch-sizes|FROM:TO:xFACTOR"},
    {"bench_sizes_backwards", "bench --batch-sizes 64:1:x2", kUsage, "--batch-sizes"},
    {"bench_plan", "bench --plan layered,x.json", kUsage, "--plan|layered|fused|'x.json'"},
    {"bench_math", "bench --math fp32,fp64", kUsage, "fp64"},
    {"bench_input", "bench --input uint8,", kUsage, "--input"},
    {"bench_output", "bench --output label", kUsage, "--output|logits|prediction|'label'"},
    {"bench_variant", "bench --device cpu --backend zzzzzz", kUsage, "zzzzzz|there are"},
    {"bench_calls", "bench --latency --calls 1", kUsage, "--calls|'1'"},
    {"bench_nothing_left", "bench --device cpu --plan layered --input uint8", kUsage, "nothing is left"},
    {"bench_data", "bench --device cpu --data {dir}/nothing", kData, "t10k-images"},
    {"bench_math_on_cpu", "bench --device cpu --plan layered --math tf32 --batch-sizes 1 --min-time-ms 1",
     kUnavailable, "tf32"},
    {"two_stdouts", "eval --device cpu --data {dir}/data --json - --csv -", kUsage, "standard output"},
    {"sheet_ending", "eval --device cpu --data {dir}/data --contact-sheet x.jpg", kUsage, ".png|.pgm|x.jpg"},
    {"graph_on_cpu", "eval --device cpu --data {dir}/data --graph on", kUsage, "--graph|CUDA"},
    {"graph_word", "eval --graph maybe", kUsage, "--graph|on|off|maybe"},
    {"split_word", "eval --split valid", kUsage, "--split|t10k|valid"},
    {"matrix_with_plan", "eval --device cpu --data {dir}/data --backend-matrix --plan x.json", kUsage,
     "--plan"},
    {"matrix_with_misses", "eval --device cpu --data {dir}/data --backend-matrix --misses m.csv", kUsage,
     "--misses"},
    {"cache_word", "profile --cache warm", kUsage, "--cache|warm"},
    {"warmup_negative", "profile --warmup-ms -1", kUsage, "--warmup-ms|'-1'"},
    {"seed_negative", "profile --seed -1", kUsage, "--seed|'-1'"},
    {"index_and_limit", "classify --device cpu --index 1 --limit 2 {dir}/pics/one.pgm", kUsage,
     "--index|--limit"},
    {"index_negative", "classify --index -1 {dir}/pics/one.pgm", kUsage, "--index|'-1'"},
    {"stdin_twice", "classify --device cpu - -", kUsage, "standard input"},
    {"problem_garbage", "backends --device cpu --problem hello", kUsage, "hello"},
    {"problem_zero", "backends --device cpu --problem mb1ic0ih5oc1kh3", kUsage, "ic|0"},
    {"problem_negative", "backends --device cpu --problem mb1ic-1ih5oc1kh3", kUsage, "ic"},
    {"problem_exponent", "backends --device cpu --problem mb1ic1ih1e3oc1kh3", kUsage, "1e3"},
    {"problem_hex", "backends --device cpu --problem mb1ic1ih0x10oc1kh3", kUsage, "0x10"},
    {"problem_2_to_31", "backends --device cpu --problem mb1ic1ih2147483648oc1kh3", kUsage, "2147483648"},
    {"problem_output", "backends --device cpu --problem mb1ic1ih28oc6oh28kh5", kUsage, "28|24"},
    {"problem_kernel", "backends --device cpu --problem mb1ic1ih4oc1kh5", kUsage, "5|4"},
    {"problem_groups", "backends --device cpu --problem g2mb1ic3ih8oc4kh3", kUsage, "g"},
    {"problem_elements", "backends --device cpu --problem mb2000ic1000ih1000oc1kh1", kUsage, "2^31"},
    {"problem_and_batch", "backends --device cpu --batch-size 4 --problem mb1ic1ih8oc1kh3", kUsage,
     "--batch-size"},
};

constexpr BadInput kDataSets[] = {
    {"no_folder", "eval --device cpu --data {dir}/not-there", kData, "not-there"},
    {"empty_folder", "eval --device cpu --data {dir}/nothing", kData, "t10k-images"},
    {"no_default", "eval --device cpu", -1, ""},  // ./data of the fixtures: see HappyPath
    {"file_as_folder", "eval --device cpu --data {dir}/pics/one.pgm", kData, "one.pgm"},
    {"other_split", "eval --device cpu --data {dir}/data --split train", kData, "train"},
    {"short", "eval --device cpu --data {dir}/short", kData, "t10k-images|15596 of 15696"},
    {"long", "eval --device cpu --data {dir}/long", kData, "t10k-images|15696"},
    {"magic", "eval --device cpu --data {dir}/magic", kData, "t10k-images|01 02 03 04"},
    {"swapped", "eval --device cpu --data {dir}/swapped", kData, "t10k-images"},
    {"rank4", "eval --device cpu --data {dir}/rank4", kData, "4|3"},
    {"zero", "eval --device cpu --data {dir}/zero", kData, "t10k-images"},
    {"huge", "eval --device cpu --data {dir}/huge", kData, "4294967295"},
    {"narrow", "eval --device cpu --data {dir}/narrow", kData, "27x28|28x28"},
    {"fewer_labels", "eval --device cpu --data {dir}/fewer", kData, "20|19"},
    {"label_11", "eval --device cpu --data {dir}/label11", kData, "7|11"},
    {"gzip_cut", "eval --device cpu --data {dir}/gzcut", kData, "t10k-images"},
    {"gzip_checksum", "eval --device cpu --data {dir}/gzflip", kData, "t10k-images"},
    {"gzip_rest", "eval --device cpu --data {dir}/gzrest", kData, "t10k-images"},
    {"empty_files", "eval --device cpu --data {dir}/emptyfiles", kData, "t10k-images|empty"},
    {"idx_index", "classify --device cpu --index 20 {dir}/data/t10k-images-idx3-ubyte", kData,
     "--index 20|20 images"},
    {"idx_narrow", "classify --device cpu {dir}/narrow/t10k-images-idx3-ubyte", kData, "28x28|27x28"},
    {"idx_labels", "classify --device cpu {dir}/data/t10k-labels-idx1-ubyte", kData, "t10k-labels"},
};

constexpr BadInput kWeights[] = {
    {"missing_file", "eval --device cpu --data {dir}/data --weights {dir}/w/none", kData, "w/none"},
    {"folder", "eval --device cpu --data {dir}/data --weights {dir}/w", kData, "directory"},
    {"empty", "eval --device cpu --data {dir}/data --weights {dir}/w/empty.safetensors", kData, "empty"},
    {"missing_tensor", "eval --device cpu --data {dir}/data --weights {dir}/w/missing.safetensors", kData,
     "missing fc3.bias"},
    {"extra_tensor", "eval --device cpu --data {dir}/data --weights {dir}/w/extra.safetensors", kData,
     "fc4.bias"},
    {"transposed", "eval --device cpu --data {dir}/data --weights {dir}/w/transposed.safetensors", kData,
     "fc1.weight|120x256|256x120|transposed"},
    {"nan", "eval --device cpu --data {dir}/data --weights {dir}/w/nan.safetensors", kData, "conv1.weight|1"},
    {"f64", "eval --device cpu --data {dir}/data --weights {dir}/w/f64.safetensors", kData, "F64|conv1.bias"},
    {"header_max", "eval --device cpu --data {dir}/data --weights {dir}/w/header_max.safetensors", kData,
     "header"},
    {"header_10g", "eval --device cpu --data {dir}/data --weights {dir}/w/header_10g.safetensors", kData,
     "header"},
    {"header_past_end", "eval --device cpu --data {dir}/data --weights {dir}/w/header_past_end.safetensors",
     kData, "header"},
    {"header_zero", "eval --device cpu --data {dir}/data --weights {dir}/w/header_zero.safetensors", kData,
     "header"},
    {"cut", "eval --device cpu --data {dir}/data --weights {dir}/w/cut.safetensors", kData,
     "cut.safetensors"},
    {"rest", "eval --device cpu --data {dir}/data --weights {dir}/w/rest.safetensors", kData,
     "rest.safetensors"},
    {"duplicate", "eval --device cpu --data {dir}/data --weights {dir}/w/duplicate.safetensors", kData,
     "\"a\"|twice"},
    {"overlap", "eval --device cpu --data {dir}/data --weights {dir}/w/overlap.safetensors", kData,
     "overlap"},
    {"gap", "eval --device cpu --data {dir}/data --weights {dir}/w/gap.safetensors", kData, "gap"},
    {"negative", "eval --device cpu --data {dir}/data --weights {dir}/w/negative.safetensors", kData,
     "negative"},
    {"overflow", "eval --device cpu --data {dir}/data --weights {dir}/w/overflow.safetensors", kData,
     "overflow"},
    {"pytorch", "eval --device cpu --data {dir}/data --weights {dir}/w/model.pt", kData, "PyTorch"},
    {"html", "eval --device cpu --data {dir}/data --weights {dir}/w/page.html", kData, "HTML"},
    {"lfs", "eval --device cpu --data {dir}/data --weights {dir}/w/pointer", kData, "LFS"},
    {"plan_missing", "eval --device cpu --data {dir}/data --plan {dir}/plans/none.json", kData, "none.json"},
    {"plan_text", "eval --device cpu --data {dir}/data --plan {dir}/plans/text.json", kData, "text.json"},
    {"plan_schema", "eval --device cpu --data {dir}/data --plan {dir}/plans/other.json", kData, "other.json"},
    {"plan_deep", "eval --device cpu --data {dir}/data --plan {dir}/plans/deep.json", kData, "deep.json"},
};

constexpr BadInput kPictures[] = {
    {"missing", "classify --device cpu {dir}/bad/none.png", kData, "none.png"},
    {"empty", "classify --device cpu {dir}/bad/empty.png", kData, "empty"},
    {"text", "classify --device cpu {dir}/bad/text.png", kData, "text.png|PNG|JPEG"},
    {"cut_png", "classify --device cpu {dir}/bad/cut.png", kData, "cut.png"},
    {"cut_pgm", "classify --device cpu {dir}/bad/cut.pgm", kData, "cut.pgm"},
    {"cut_jpg", "classify --device cpu {dir}/bad/cut.jpg", kData, "cut.jpg"},
    {"zero_pixels", "classify --device cpu {dir}/bad/zero.pgm", kData, "zero.pgm"},
    {"huge", "classify --device cpu {dir}/bad/huge.pgm", kData, "huge.pgm"},
    {"webp", "classify --device cpu {dir}/bad/picture.webp", kData, "WebP"},
    {"gif", "classify --device cpu {dir}/bad/picture.gif", kData, "GIF"},
    {"heic", "classify --device cpu {dir}/bad/photo.heic", kData, "photo.heic|HEIC|PNG, JPEG"},
    {"jpeg_xl", "classify --device cpu {dir}/bad/photo.jxl", kData, "photo.jxl|JPEG XL|PNG, JPEG"},
    {"jpeg_2000", "classify --device cpu {dir}/bad/photo.jp2", kData, "photo.jp2|JPEG 2000|PNG, JPEG"},
    {"icon", "classify --device cpu {dir}/bad/favicon.ico", kData, "favicon.ico|Windows icon|PNG, JPEG"},
    {"zeros", "classify --device cpu {dir}/bad/zeros.png", kData, "zeros.png|expected a picture"},
    {"fifo", "classify --device cpu {dir}/bad/fifo.png", kData, "FIFO"},
    {"device_zero", "classify --device cpu /dev/zero", kData, "device"},
    {"symlink_loop", "classify --device cpu {dir}/bad/loop.png", kData, "loop.png"},
    {"folder_without", "classify --device cpu {dir}/nothing", kData, "nothing|no picture"},
    {"empty_stdin", "classify --device cpu -", kData, "standard input|empty"},
};

constexpr BadInput kElsewhere[] = {
    {"cuda_99", "eval --device cuda:99 --data {dir}/data", kUnavailable, "cuda:99"},
    {"math_on_cpu", "eval --device cpu --data {dir}/data --math tf32", kUnavailable, "tf32"},
    {"workspace_one_byte",
     "eval --device cpu --data {dir}/data --backend conv1=im2col_gemm --workspace-limit 1", kMemory,
     "workspace|conv1"},
    {"json_in_no_folder", "eval --device cpu --data {dir}/data --json {dir}/no/such/x.json", kOutput,
     "x.json"},
    {"json_is_folder", "eval --device cpu --data {dir}/data --json {dir}/out", kOutput, "out"},
    {"csv_full", "eval --device cpu --data {dir}/data --csv /dev/full", kOutput, "/dev/full"},
    {"logits_full", "eval --device cpu --data {dir}/data --logits /dev/full", kOutput, "/dev/full"},
    {"trace_full", "profile --device cpu --min-time-ms 1 --warmup-ms 0 --cache hot --trace /dev/full",
     kOutput, "/dev/full"},
    {"plan_full", "eval --device cpu --data {dir}/data --save-plan /dev/full", kOutput, "/dev/full"},
    {"classify_json_full", "classify --device cpu {dir}/pics/one.pgm --json /dev/full", kOutput, "/dev/full"},
};

// -1: no failure at all.
void expect_failure(const BadInput& bad) {
  ProgramOptions options;
  options.timeout_s = 60;
  const ProgramRun run = lenslet(bad.arguments, options);
  EXPECT_FALSE(run.timed_out);
  EXPECT_EQ(run.signal, 0) << run.err;
  if (bad.exit_code == -1) {
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return;
  }
  EXPECT_EQ(run.exit_code, bad.exit_code) << run.err;
  EXPECT_EQ(std::count(run.err.begin(), run.err.end(), '\n'), 1) << "one line, found: " << run.err;
  EXPECT_EQ(run.err.rfind("lenslet: error: ", 0), 0u) << run.err;
  std::istringstream fragments(expand(bad.fragments));
  for (std::string fragment; std::getline(fragments, fragment, '|');) {
    EXPECT_NE(run.err.find(fragment), std::string::npos) << "'" << fragment << "' is not in: " << run.err;
  }
}

class BadInputTest : public testing::TestWithParam<BadInput> {};
TEST_P(BadInputTest, GetsItsExitCodeAndMessage) { expect_failure(GetParam()); }

std::string name_of(const testing::TestParamInfo<BadInput>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(CommandLine, BadInputTest, testing::ValuesIn(kCommandLine), name_of);
INSTANTIATE_TEST_SUITE_P(DataSets, BadInputTest, testing::ValuesIn(kDataSets), name_of);
INSTANTIATE_TEST_SUITE_P(Weights, BadInputTest, testing::ValuesIn(kWeights), name_of);
INSTANTIATE_TEST_SUITE_P(Pictures, BadInputTest, testing::ValuesIn(kPictures), name_of);
INSTANTIATE_TEST_SUITE_P(Elsewhere, BadInputTest, testing::ValuesIn(kElsewhere), name_of);

TEST(BadInput, AProblemThatDoesNotFitIsAMemoryErrorBeforeAnythingIsAllocated) {
  // Every tensor just below 2^31 elements, three copies of each: 60 GiB.
  constexpr double kNeeded = 60.0 * (1u << 30);
  if (static_cast<double>(free_memory_bytes(Device::cpu())) > kNeeded)
    GTEST_SKIP() << "this machine has room for the largest problem";
  const ProgramRun run = lenslet("backends --device cpu --problem mb32767ic65535ih1oc32767kh1");
  EXPECT_EQ(run.exit_code, kMemory) << run.err;
  EXPECT_NE(run.err.find("are free"), std::string::npos) << run.err;
#ifndef __SANITIZE_ADDRESS__  // whose shadow memory counts
  EXPECT_LT(run.max_rss_kib, 100 * 1024);
#endif
}

TEST(BadInput, CudaWithoutGpuSaysWhy) {
  if (cuda_status().usable) GTEST_SKIP() << "this machine has a usable GPU";
  const ProgramRun run = lenslet("eval --data {dir}/data --device cuda");
  EXPECT_EQ(run.exit_code, kUnavailable);
  EXPECT_NE(run.err.find(cuda_status().reason), std::string::npos) << run.err;
}

TEST(BadInput, NameOfFiveThousandCharactersIsADataError) {
  const ProgramRun run = lenslet("classify --device cpu " + std::string(5000, 'x'));
  EXPECT_EQ(run.exit_code, kData);
  EXPECT_LT(run.err.size(), 1000u);
}

TEST(BadInput, FlagOfFiveThousandCharactersIsAUsageError) {
  const ProgramRun run = lenslet("eval --" + std::string(5000, 'x'));
  EXPECT_EQ(run.exit_code, kUsage);
  EXPECT_LT(run.err.size(), 1000u);
}

}  // namespace
}  // namespace lenslet::test
