// Targets of results: full and read-only disks, folders, standard output.
#include <filesystem>
#include <fstream>

#include "tests/cli/bad_input/bad_input.h"

namespace lenslet::test {
namespace {

constexpr BadInput kOutputs[] = {
    {"json_in_no_folder", "{eval} --json {dir}/no/such/x.json", kOutput,
     "x.json: cannot be written: No such file or directory|no/such: create it, or give another name"},
    {"json_is_folder", "{eval} --json {dir}/out", kOutput,
     "out: cannot be written: Is a directory|give a name within"},
    {"csv_full", "{eval} --csv /dev/full", kOutput, "/dev/full: cannot be written: No space left"},
    {"logits_full", "{eval} --logits /dev/full", kOutput, "/dev/full: cannot be written: No space left"},
    {"trace_full", "lenslet profile --device cpu {quick} --trace /dev/full", kOutput,
     "/dev/full: cannot be written: No space left"},
    {"plan_full", "{eval} --save-plan /dev/full", kOutput, "/dev/full: cannot be written: No space left"},
    {"classify_json_full", "{classify} {dir}/pics/one.pgm --json /dev/full", kOutput,
     "/dev/full: cannot be written: No space left"},
    {"standard_output_full", "{eval} --json -", kOutput, "standard output|No space left", "stdout:full"},
    {"version_into_full", "lenslet --version", kOutput, "standard output|No space left", "stdout:full"},
    {"help_into_full", "lenslet eval --help", kOutput, "standard output|No space left", "stdout:full"},
    {"standard_output_closed", "{classify} {dir}/pics/one.pgm --csv {dir}/out/closed.csv", kOutput,
     "standard output: cannot be written: Bad file descriptor", "stdout:closed"},
    {"json_to_closed_output", "{eval} --json -", kOutput,
     "standard output: cannot be written: Bad file descriptor", "stdout:closed"},
    {"json_on_full_disk", "{eval} --json {dir}/full/old.json", kOutput, "full/old.json|No space left"},
    {"logits_on_full_disk", "{eval} --logits {dir}/full/x.npy", kOutput, "full/x.npy|No space left"},
    {"sheet_on_full_disk", "{eval} --contact-sheet {dir}/full/x.png", kOutput, "full/x.png|No space left"},
    {"classify_on_full_disk",
     "{classify} {dir}/many/t10k-images-idx3-ubyte --limit 2000 --csv {dir}/full/x.csv", kOutput,
     "full/x.csv|No space left"},
    {"trace_on_full_disk", "lenslet profile --device cpu {quick} --trace {dir}/full/x.json", kOutput,
     "full/x.json|No space left"},
    {"doctor_on_full_disk", "lenslet backends --device cpu --json {dir}/full/x.json", kOutput,
     "full/x.json|No space left"},
    {"csv_on_read_only_disk", "{eval} --csv {dir}/read_only/x.csv", kOutput, "read_only/x.csv|Read-only"},
    {"misses_on_read_only_disk", "{eval} --misses {dir}/read_only/x.csv", kOutput,
     "read_only/x.csv|Read-only"},
    {"plan_on_read_only_disk", "{eval} --save-plan {dir}/read_only/plan.json", kOutput,
     "read_only/plan.json|Read-only"},
    {"classify_on_read_only_disk",
     "{classify} {dir}/many/t10k-images-idx3-ubyte --limit 2000 --csv {dir}/read_only/x.csv", kOutput,
     "read_only/x.csv|Read-only"},
    {"tuned_plan_on_read_only_disk",
     "lenslet tune --device cpu --min-time-ms 1 --warmup-ms 0 --plan fused --save-plan "
     "{dir}/read_only/x.json",
     kOutput, "read_only/x.json|Read-only"},
    {"json_in_locked_folder", "{eval} --json {dir}/locked/x.json", kOutput, "locked/x.json|Permission denied",
     "rights:none"},
    {"json_name_too_long", "{eval} --json {dir}/out/{long}", kOutput, "xxx|too long"},
    {"json_through_file", "{eval} --json {dir}/pics/one.pgm/x.json", kOutput, "x.json|Not a directory"},
    {"json_symlink_loop", "{eval} --json {dir}/w/loop", kOutput,
     "w/loop: cannot be written: Too many levels of symbolic links"},
    {"json_is_data", "{eval} --json {dir}/data/t10k-images-idx3-ubyte", kUsage,
     "--data and --json name the same file|t10k-images-idx3-ubyte"},
    {"misses_is_labels_relative", "{eval} --misses data/../data/t10k-labels-idx1-ubyte", kUsage,
     "--data and --misses name the same file"},
    {"csv_is_data_of_environment", "lenslet eval --device cpu --csv {dir}/data/t10k-images-idx3-ubyte",
     kUsage, "LENSLET_MNIST_DIR and --csv name the same file", "LENSLET_MNIST_DIR={dir}/data"},
    {"bench_json_is_data",
     "lenslet bench --device cpu --data {dir}/data --json {dir}/data/t10k-labels-idx1-ubyte", kUsage,
     "--data and --json name the same file"},
    {"save_plan_is_plan",
     "lenslet profile --device cpu --plan {dir}/plans/text.json --save-plan {dir}/plans/text.json", kUsage,
     "--plan and --save-plan name the same file"},
    {"trace_is_weights",
     "lenslet profile --device cpu --weights {dir}/w/good.safetensors --trace w/good.safetensors", kUsage,
     "--weights and --trace name the same file"},
    {"csv_is_a_picture", "{classify} pics/one.pgm --csv {dir}/pics/one.pgm", kUsage,
     "a picture and --csv name the same file"},
    {"csv_is_a_folders_picture", "{classify} {dir}/pics --csv {dir}/pics/one.pgm", kUsage,
     "a picture and --csv name the same file"},
    {"json_is_problems",
     "convbench run --device cpu --problems {dir}/problems/good.txt --json "
     "{dir}/problems/../problems/good.txt",
     kUsage, "--problems and --json name the same file"},
    {"report_is_problems",
     "convbench run --device cpu --problems {dir}/problems/good.txt --json {dir}/out/x.json --report "
     "problems/good.txt",
     kUsage, "--problems and --report name the same file"},
    {"json_is_a_list_that_problems_names",
     "convbench run --device cpu --problems {dir}/problems/outer.txt --json {dir}/problems/good.txt", kUsage,
     "--problems and --json name the same file|good.txt"},
    {"json_is_a_picture_of_a_class", "{eval_of}/by_class --json {dir}/by_class/1/one.pgm", kUsage,
     "--data and --json name the same file|one.pgm"},
    {"json_is_external_data", "{inspect}/external.onnx --json {dir}/m/b.data", kUsage,
     "a file of the model and --json name the same file|b.data"},
    {"trace_is_external_data",
     "lenslet profile --device cpu --model {dir}/m/external.onnx --trace {dir}/m/b.data", kUsage,
     "a file of the model and --trace name the same file|b.data"},
    {"backends_csv_is_external_data",
     "lenslet backends --device cpu --model {dir}/m/external.onnx --csv {dir}/m/b.data", kUsage,
     "a file of the model and --csv name the same file|b.data"},
    {"doctor_json_is_external_data",
     "lenslet doctor --device cpu --model {dir}/m/external.onnx --json {dir}/m/b.data", kUsage,
     "a file of the model and --json name the same file|b.data"},
    {"two_outputs_through_a_dangling_link", "{eval} --json {dir}/out/made.json --csv {dir}/out/dangling",
     kUsage, "--json and --csv name the same file|out/dangling"},
    {"two_dangling_links", "{classify} {dir}/pics/one.pgm --json out/dangling --csv {dir}/out/dangling_too",
     kUsage, "--json and --csv name the same file|out/dangling_too"},
    {"dangling_link_and_linked_folder", "{run} --json {dir}/out/here/made.json --report {dir}/out/dangling",
     kUsage, "--json and --report name the same file|out/dangling"},
    {"two_outputs_are_standard_output", "{eval} --json - --csv /dev/stdout", kUsage,
     "only one output can be '-'"},
};

INSTANTIATE_TEST_SUITE_P(Outputs, BadInputTest, testing::ValuesIn(kOutputs), ByName());

// Each command prints its model or device before it measures;
// a command that has printed nothing has measured nothing.
TEST(BadInput, AnOutputInNoFolderIsRefusedBeforeAnythingIsMeasured) {
  for (const std::string command :
       {"lenslet profile --json",
        "lenslet profile --csv",
        "lenslet profile --trace",
        "lenslet profile --save-plan",
        "lenslet tune --save-plan",
        "lenslet tune --json",
        "lenslet tune --csv",
        "lenslet backends --json",
        "lenslet backends --csv",
        "lenslet doctor --json",
        "lenslet bench --json",
        "{eval} --json",
        "{eval} --csv",
        "{eval} --misses",
        "{eval} --logits",
        "{eval} --contact-sheet",
        "{eval} --save-plan",
        "{classify} {dir}/pics/one.pgm --json",
        "{run} --json",
        "{run} --csv",
        "{run} --json {dir}/out/r.json --report",
        "convbench separable --json",
        "convbench sweep --json",
        "lenslet bench --csv",
        "{classify} {dir}/pics/one.pgm --csv",
        "{classify} {dir}/pics/one.pgm --save-plan",
        "lenslet show {dir}/pics/one.pgm --html",
        "lenslet diff {source}/tests/models/onnx/lenet5.onnx --against x.npz --json",
        "lenslet inspect {source}/tests/models/onnx/lenet5.onnx --csv",
        "lenslet report {dir}/out/none.json --html",
        "{compare}/old.json {dir}/results/new.json --json",
        "{filter} --output"}) {
    const bool no_device = command.find("lenslet inspect") == 0 || command.find("lenslet report") == 0;
    const std::string device = command[0] == '{' || no_device ? "" : " --device cpu";
    const auto has = [&](const char* option) { return command.find(option) != std::string::npos; };
    const std::string file = has("--save-plan") ? "/no/x.json" : has("show") ? "/no/x.html" : "/no/x.png";
    const ProgramRun run = expect_run(run_line(command + " {dir}" + file + device), kOutput, "",
                                      file + ": cannot be written: No such file or directory");
    EXPECT_EQ(run.out, "") << command;
  }
}

// What was computed is printed, and the other file is whole, before the error ends the command.
TEST(BadInput, AFileThatCannotBeWrittenKeepsNoAnswerBack) {
  const std::string full = "/dev/full: cannot be written: No space left";
  expect_run(run_line("{classify} {dir}/pics/one.pgm {source}/samples/digit_7_a.png --json /dev/full --csv "
                      "{dir}/out/whole.csv"),
             kOutput, "one.pgm: 1|digit_7_a.png: 7", full);
  EXPECT_EQ(count_lines(read_text(expand("{dir}/out/whole.csv"))), 3);
  expect_run(run_line("{classify} {dir}/pics/one.pgm --csv /dev/full"), kOutput, "one.pgm: 1", full);
  for (const std::string target : {"--json /dev/full", "--csv /dev/full"}) {
    expect_run(run_line("{eval} " + target), kOutput, "accuracy: ", full);
    expect_run(lenslet("bench --device cpu --batch-sizes 1 --warmup-ms 0 --min-time-ms 1 " + target), kOutput,
               "images/s", full);
    expect_run(lenslet("profile --device cpu {quick} " + target), kOutput, "conv2", full);
    expect_run(run_line("{measure} " + target), kOutput, "PASSED", full);
  }
}

TEST(BadInput, ACommandThatFailsLaterLeavesTheEarlierFiles) {
  const std::string file = fixture_folder() + "/out/earlier.json", before = "of an earlier run\n";
  std::ofstream(file) << before;
  expect_run(run_line("{eval_of}/nothing --json " + file), kData);
  expect_run(lenslet("tune --device cpu --plan layered --backend conv1=nonesuch --save-plan " + file),
             kUsage);
  expect_run(lenslet("profile --device cpu --weights {dir}/none --trace " + file), kData);
  expect_run(run_line("{filter} --backend nonesuch --json " + file), kUsage);
  EXPECT_EQ(read_text(file), before);
  std::filesystem::remove(file);
}

TEST(BadInput, AClosedOutputTouchesNoFile) {
  ProgramOptions options;
  options.output = ProgramOptions::Output::kClosed;
  expect_run(run_line("{classify} {dir}/pics/one.pgm --csv {dir}/out/untouched.csv", options), kOutput);
  EXPECT_FALSE(std::filesystem::exists(expand("{dir}/out/untouched.csv")));
}

TEST(BadInput, NoTerminalNoControlCharacters) {
  const ProgramRun run = expect_run(run_line("{eval_of}/many"), kOk);
  EXPECT_EQ((run.out + run.err).find_first_of("\r\x1b"), std::string::npos);
}

TEST(BadInput, AReaderThatGoesAwayIsNoNoise) {
  ProgramOptions options;
  options.output = ProgramOptions::Output::kReadOneLineThenClose;
  const ProgramRun run =
      expect_run(run_line("{classify} {dir}/many/t10k-images-idx3-ubyte", options), kOutput);
  EXPECT_TRUE(run.err.empty()) << run.err;
}

}  // namespace
}  // namespace lenslet::test
