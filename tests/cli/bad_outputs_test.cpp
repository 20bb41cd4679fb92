// Where results go: disks that are full or read-only, folders, standard output.
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/cli/bad_input.h"
#include "tests/cli/fixture_files.h"

namespace lenslet::test {
namespace {

constexpr BadInput kOutputs[] = {
    {"json_in_no_folder", "lenslet eval --device cpu --data {dir}/data --json {dir}/no/such/x.json", kOutput,
     "x.json"},
    {"json_is_folder", "lenslet eval --device cpu --data {dir}/data --json {dir}/out", kOutput, "out"},
    {"csv_full", "lenslet eval --device cpu --data {dir}/data --csv /dev/full", kOutput, "/dev/full"},
    {"logits_full", "lenslet eval --device cpu --data {dir}/data --logits /dev/full", kOutput, "/dev/full"},
    {"trace_full", "lenslet profile --device cpu --min-time-ms 1 --warmup-ms 0 --cache hot --trace /dev/full",
     kOutput, "/dev/full"},
    {"plan_full", "lenslet eval --device cpu --data {dir}/data --save-plan /dev/full", kOutput, "/dev/full"},
    {"classify_json_full", "lenslet classify --device cpu {dir}/pics/one.pgm --json /dev/full", kOutput,
     "/dev/full"},
    {"standard_output_full", "lenslet eval --device cpu --data {dir}/data --json -", kOutput,
     "standard output|No space left", "stdout:full"},
    {"version_into_full", "lenslet --version", kOutput, "standard output|No space left", "stdout:full"},
    {"help_into_full", "lenslet eval --help", kOutput, "standard output|No space left", "stdout:full"},
    {"standard_output_closed", "lenslet classify --device cpu {dir}/pics/one.pgm --csv {dir}/out/closed.csv",
     kOutput, "standard output", "stdout:closed"},
    {"json_to_closed_output", "lenslet eval --device cpu --data {dir}/data --json -", kOutput,
     "standard output", "stdout:closed"},
    {"json_on_full_disk", "lenslet eval --device cpu --data {dir}/data --json {dir}/full/old.json", kOutput,
     "full/old.json|No space left"},
    {"logits_on_full_disk", "lenslet eval --device cpu --data {dir}/data --logits {dir}/full/x.npy", kOutput,
     "full/x.npy|No space left"},
    {"sheet_on_full_disk", "lenslet eval --device cpu --data {dir}/data --contact-sheet {dir}/full/x.png",
     kOutput, "full/x.png|No space left"},
    {"classify_on_full_disk",
     "lenslet classify --device cpu {dir}/many/t10k-images-idx3-ubyte --limit 2000 --csv {dir}/full/x.csv",
     kOutput, "full/x.csv|No space left"},
    {"trace_on_full_disk",
     "lenslet profile --device cpu --min-time-ms 1 --warmup-ms 0 --cache hot --trace {dir}/full/x.json",
     kOutput, "full/x.json|No space left"},
    {"doctor_on_full_disk", "lenslet backends --device cpu --json {dir}/full/x.json", kOutput,
     "full/x.json|No space left"},
    {"csv_on_read_only_disk", "lenslet eval --device cpu --data {dir}/data --csv {dir}/read_only/x.csv",
     kOutput, "read_only/x.csv|Read-only"},
    {"misses_on_read_only_disk", "lenslet eval --device cpu --data {dir}/data --misses {dir}/read_only/x.csv",
     kOutput, "read_only/x.csv|Read-only"},
    {"plan_on_read_only_disk",
     "lenslet eval --device cpu --data {dir}/data --save-plan {dir}/read_only/plan.json", kOutput,
     "read_only/plan.json|Read-only"},
    {"classify_on_read_only_disk",
     "lenslet classify --device cpu {dir}/many/t10k-images-idx3-ubyte --limit 2000 --csv "
     "{dir}/read_only/x.csv",
     kOutput, "read_only/x.csv|Read-only"},
    {"tuned_plan_on_read_only_disk",
     "lenslet tune --device cpu --min-time-ms 1 --warmup-ms 0 --plan fused --save-plan "
     "{dir}/read_only/x.json",
     kOutput, "read_only/x.json|Read-only"},
    {"json_in_locked_folder", "lenslet eval --device cpu --data {dir}/data --json {dir}/locked/x.json",
     kOutput, "locked/x.json|Permission denied", "rights:none"},
    {"json_name_too_long", "lenslet eval --device cpu --data {dir}/data --json {dir}/out/{long}", kOutput,
     "xxx|too long"},
    {"json_through_file", "lenslet eval --device cpu --data {dir}/data --json {dir}/pics/one.pgm/x.json",
     kOutput, "x.json|Not a directory"},
    {"json_symlink_loop", "lenslet eval --device cpu --data {dir}/data --json {dir}/w/loop", kOutput,
     "w/loop"},
    {"json_is_data", "lenslet eval --device cpu --data {dir}/data --json {dir}/data/t10k-images-idx3-ubyte",
     kUsage, "--data and --json name the same file|t10k-images-idx3-ubyte"},
    {"misses_is_labels_relative",
     "lenslet eval --device cpu --data {dir}/data --misses data/../data/t10k-labels-idx1-ubyte", kUsage,
     "--data and --misses name the same file"},
    {"csv_is_data_of_environment", "lenslet eval --device cpu --csv {dir}/data/t10k-images-idx3-ubyte",
     kUsage, "LENSLET_MNIST_DIR and --csv name the same file", "LENSLET_MNIST_DIR={dir}/data"},
    {"bench_json_is_data",
     "lenslet bench --device cpu --data {dir}/data --json {dir}/data/t10k-labels-idx1-ubyte", kUsage,
     "--data and --json name the same file"},
    {"save_plan_is_plan",
     "lenslet profile --device cpu --plan {dir}/w/good.safetensors --save-plan {dir}/w/good.safetensors",
     kUsage, "--plan and --save-plan name the same file"},
    {"trace_is_weights",
     "lenslet profile --device cpu --weights {dir}/w/good.safetensors --trace w/good.safetensors", kUsage,
     "--weights and --trace name the same file"},
    {"csv_is_a_picture", "lenslet classify --device cpu pics/one.pgm --csv {dir}/pics/one.pgm", kUsage,
     "a picture and --csv name the same file"},
    {"csv_is_a_folders_picture", "lenslet classify --device cpu {dir}/pics --csv {dir}/pics/one.pgm", kUsage,
     "a picture and --csv name the same file"},
    {"json_is_problems",
     "convbench run --device cpu --problems {dir}/problems/good.txt --json "
     "{dir}/problems/../problems/good.txt",
     kUsage, "--problems and --json name the same file"},
    {"report_is_problems",
     "convbench run --device cpu --problems {dir}/problems/good.txt --json {dir}/out/x.json --report "
     "problems/good.txt",
     kUsage, "--problems and --report name the same file"},
    {"two_outputs_through_a_dangling_link",
     "lenslet eval --device cpu --data {dir}/data --json {dir}/out/made.json --csv {dir}/out/dangling",
     kUsage, "--json and --csv name the same file|out/dangling"},
    {"two_dangling_links",
     "lenslet classify --device cpu {dir}/pics/one.pgm --json out/dangling --csv {dir}/out/dangling_too",
     kUsage, "--json and --csv name the same file|out/dangling_too"},
    {"dangling_link_and_linked_folder",
     "convbench run --device cpu --problem ic1ih8oc1kh1 --json {dir}/out/here/made.json --report "
     "{dir}/out/dangling",
     kUsage, "--json and --report name the same file|out/dangling"},
    {"two_outputs_are_standard_output",
     "lenslet eval --device cpu --data {dir}/data --json - --csv /dev/stdout", kUsage,
     "only one output can be '-'"},
};

INSTANTIATE_TEST_SUITE_P(Outputs, BadInputTest, testing::ValuesIn(kOutputs), name_of);

// Each command tells people about its model or device before it measures: one that has said nothing has measured nothing.
TEST(BadInput, AnOutputInNoFolderIsRefusedBeforeAnythingIsMeasured) {
  const auto refused = [](const ProgramRun& run, const std::string& command) {
    EXPECT_EQ(run.exit_code, kOutput) << command << ": " << run.err;
    EXPECT_NE(run.err.find("/no/x.png: cannot be written: No such file or directory"), std::string::npos)
        << command << ": " << run.err;
    EXPECT_EQ(run.out, "") << command;
  };
  for (const std::string command :
       {"profile --json", "profile --csv", "profile --trace", "profile --save-plan", "tune --save-plan",
        "tune --json", "tune --csv", "backends --json", "backends --csv", "doctor --json", "bench --json",
        "eval --data {dir}/data --json", "eval --data {dir}/data --csv", "eval --data {dir}/data --misses",
        "eval --data {dir}/data --logits", "eval --data {dir}/data --contact-sheet",
        "eval --data {dir}/data --save-plan", "classify {dir}/pics/one.pgm --json"}) {
    refused(lenslet(command + " {dir}/no/x.png --device cpu"), command);
  }
  for (const std::string command : {"run --problem ic1ih8oc1kh1 --json", "run --problem ic1ih8oc1kh1 --csv",
                                    "run --problem ic1ih8oc1kh1 --json {dir}/out/r.json --report",
                                    "separable --json", "filter --input {dir}/kinds/rgb.png --output"}) {
    refused(convbench(command + " {dir}/no/x.png --device cpu"), command);
  }
}

TEST(BadInput, ACommandThatFailsLaterLeavesTheEarlierFiles) {
  const std::string file = fixture_folder() + "/out/earlier.json", before = "of an earlier run\n";
  std::ofstream(file) << before;
  EXPECT_EQ(lenslet("eval --device cpu --data {dir}/nothing --json " + file).exit_code, kData);
  EXPECT_EQ(
      lenslet("tune --device cpu --plan layered --backend conv1=nonesuch --save-plan " + file).exit_code,
      kUsage);
  EXPECT_EQ(lenslet("profile --device cpu --weights {dir}/none --trace " + file).exit_code, kData);
  EXPECT_EQ(convbench("filter --device cpu --input {dir}/kinds/rgb.png --backend nonesuch --json " + file)
                .exit_code,
            kUsage);
  std::ifstream stream(file);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), before);
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace lenslet::test
