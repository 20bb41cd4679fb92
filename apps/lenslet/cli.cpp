#include "apps/lenslet/cli.h"

#include <limits>
#include <memory>

#include "apps/common/command_line.h"
#include "apps/common/image_options.h"
#include "apps/common/option_values.h"
#include "apps/common/text.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/suggestions.h"

namespace lenslet {
namespace {

constexpr int64_t kMaxBatch = 1 << 20;
constexpr int kMaxThreads = 1024;
constexpr int64_t kLeastCalls = 10, kMostCalls = 1000000;
constexpr int64_t kMaxStreams = 64;
constexpr int64_t kMaxRepeat = 1'000'000'000;
const std::vector<std::string> kInputs = {"fp32", "uint8"}, kOutputs = {"logits", "prediction"},
                               kBenchPlans = {"layered", "fused"};

// The word itself; the words are those of `choices`.
std::string parse_word(const std::string& option, const std::string& word,
                       const std::vector<std::string>& choices) {
  std::string known;
  for (const std::string& choice : choices) {
    if (word == choice) return word;
    known += (known.empty() ? "" : "|") + choice;
  }
  throw UsageError(concat(option, " expects ", known, ", found '", printable(word), "'"));
}

ElementType parse_input(const std::string& word) {
  return parse_word("--input", word, kInputs) == "uint8" ? ElementType::kUint8 : ElementType::kFp32;
}

ElementType parse_output(const std::string& word) {
  return parse_word("--output", word, kOutputs) == "prediction" ? ElementType::kPrediction
                                                                : ElementType::kFp32;
}

void add_execution(Command command, CommonOptions& options) {
  command.option("--device", "auto|cpu|cuda[:N]", "auto takes a usable GPU, else the CPU [auto]",
                 [&options](const std::string& text) { options.device = text; });
  command.option("--threads", "N", "CPU threads [all cores, or LENSLET_NUM_THREADS]",
                 [&options](const std::string& text) {
                   options.threads = static_cast<int>(parse_integer("--threads", text, 1, kMaxThreads));
                 });
  command.option("--workspace-limit", "BYTES",
                 "most workspace a layer may take, such as 64M [no limit; for cudnn 512M]",
                 [&options](const std::string& text) {
                   options.workspace_limit = parse_bytes("--workspace-limit", text);
                 });
  command.text("--json", "FILE", options.json, "result as JSON; '-' is standard output");
  command.text("--csv", "FILE", options.csv, "result as CSV; '-' is standard output");
}

void add_math(Command command, CommonOptions& options) {
  command.option("--math", "fp32|tf32|fp16", "arithmetic of convolutions and matrix products [fp32]",
                 [&options](const std::string& text) { options.math = parse_math_mode(text); });
}

void add_network(Command command, CommonOptions& options) {
  command.text("--weights", "FILE", options.weights, "weights as safetensors [built in]");
  command.text(
      "--backend", "SPEC", options.backend,
      "cudnn, or by layer: conv1=direct,conv2=winograd,*=auto; with --plan fused one of its variants "
      "[auto]");
  command.suggest("--backend", backend_suggestions);
  add_math(command, options);
  command.choice("--input", kInputs,
                 "what the model reads: normalised images, or their bytes (fused only) [fp32]",
                 [&options](const std::string& text) { options.input = parse_input(text); });
  command.text("--save-plan", "FILE", options.save_plan, "write the choices made, for --plan");
  command.option("--batch-size", "N", "images computed together", [&options](const std::string& text) {
    options.batch_size = parse_integer("--batch-size", text, 1, kMaxBatch);
  });
}

void add_model(Command command, CommonOptions& options) {
  add_network(command, options);
  command.text(
      "--plan", "auto|layered|fused|FILE", options.plan,
      "layer by layer, all layers at once, or the choices of a saved plan (.json); auto takes layered with "
      "--backend, else fused for bytes or predictions and where it serves on the CPU, else layered [auto]");
}

void add_output(Command command, CommonOptions& options) {
  command.choice("--output", kOutputs,
                 "what the model writes: 10 logits, or class and probability (fused only) [logits]",
                 [&options](const std::string& text) { options.output = parse_output(text); });
}

void add_seed(Command command, CommonOptions& options, const std::string& help) {
  command.option("--seed", "N", help, [&options](const std::string& text) {
    options.seed =
        static_cast<uint64_t>(parse_integer("--seed", text, 0, std::numeric_limits<int64_t>::max()));
  });
}

void add_graph(Command command, CommonOptions& options) {
  command.choice("--graph", {"on", "off"}, "replay a captured CUDA graph [off]",
                 [&options](const std::string& text) { options.cuda_graph = text == "on"; });
}

void add_classify(Command command, ClassifyOptions& options) {
  command.arguments(
      "inputs", "FILE|DIR|-", options.inputs,
      "pictures (PNG, JPEG, BMP, PGM, PPM), IDX files, folders of pictures, or '-' for one picture from "
      "standard input");
  command.flag("--explain", options.explain, "show each step from the picture to the model's input");
  command.count("--limit", 1, options.limit, "classify at most N images of each IDX file");
  command.count("--index", 0, options.index, "classify only image N of each IDX file");
  add_image_limits(command, options.image_limits);
  add_model(command, options);
  add_execution(command, options);
  command.footer(
      "Examples:\n"
      "  lenslet classify samples/digit_3_a.png --explain\n"
      "  lenslet classify photos/ --json answers.json\n"
      "  lenslet classify t10k-images-idx3-ubyte.gz --limit 10 --device cpu\n"
      "A picture that cannot be read does not stop the others; the exit code is then 3.");
}

void add_eval(Command command, EvalOptions& options) {
  command.text("--data", "DIR", options.data,
               "folder with MNIST's IDX files [LENSLET_MNIST_DIR, then ./data]");
  command.choice("--split", {"t10k", "train"}, "which images [t10k]",
                 [&options](const std::string& text) { options.split = text; });
  command.count("--limit", 1, options.limit, "evaluate only the first N images");
  command.option("--min-accuracy", "X", "exit with 1 below this fraction, such as 0.99",
                 [&options](const std::string& text) {
                   options.min_accuracy = parse_number("--min-accuracy", text, 0, 1);
                 });
  command.flag("--backend-matrix", options.backend_matrix,
               "run every legal combination of backends, but for layers that --backend names, and compare "
               "their answers");
  command.option(
      "--streams", "N",
      "stream the images from page-locked host memory through N streams, in chunks of --batch-size, and show "
      "the share of the bus's rate (GPU) [3 with --repeat]",
      [&options](const std::string& text) {
        options.streams = parse_integer("--streams", text, 1, kMaxStreams);
      });
  command.option("--repeat", "R", "stream the data set R times [as often as a second allows, with --streams]",
                 [&options](const std::string& text) {
                   options.repeat = parse_integer("--repeat", text, 1, kMaxRepeat);
                 });
  command.text("--misses", "FILE", options.misses,
               "list of misclassified images as CSV; '-' is standard output");
  command.text("--contact-sheet", "FILE", options.contact_sheet,
               "picture of the misclassified images (.png or .pgm)");
  command.text("--logits", "FILE", options.logits,
               "the logits as .npy, .safetensors or raw fp32 (any other ending)");
  add_model(command, options);
  add_graph(command, options);
  add_execution(command, options);
  command.footer(
      "Examples:\n"
      "  lenslet eval --data mnist --device cpu\n"
      "  lenslet eval --backend conv1=direct,conv2=winograd --min-accuracy 0.99\n"
      "  lenslet eval --device cuda --plan fused --input uint8 --batch-size 65536 --streams 3 --repeat "
      "20000\n"
      "  lenslet eval --backend-matrix --backend fc1=direct,fc2=direct,fc3=direct --json matrix.json");
}

void add_profile(Command command, ProfileCommandOptions& options) {
  command.choice("--cache", {"cold", "hot", "both"},
                 "time layers with flushed caches, inside a whole pass, or both [both]",
                 [&options](const std::string& text) { options.cache = text; });
  command.milliseconds("--warmup-ms", options.warmup_ms, "warm up that long before measuring [50]");
  command.milliseconds("--min-time-ms", options.min_time_ms,
                       "measure each quantity that long, 5,000 passes at most [200]");
  command.text("--trace", "FILE", options.trace,
               "Chrome trace of one pass, for Perfetto; '-' is standard output");
  command.flag("--capture", options.capture,
               "bracket the measured part with cudaProfilerStart/Stop, for Nsight");
  command.flag("--strict", options.strict,
               "exit with 1 where a row is SUSPECT: faster than the machine can be");
  add_seed(command, options, "seed of the random images [1]");
  add_model(command, options);
  add_output(command, options);
  add_graph(command, options);
  add_execution(command, options);
  command.footer(
      "Examples:\n"
      "  lenslet profile --batch-size 10000\n"
      "  lenslet profile --device cpu --backend conv2=im2col_gemm --cache hot\n"
      "  lenslet profile --plan fused --input uint8 --output prediction --batch-size 65536\n"
      "  lenslet profile --trace pass.json --json profile.json");
}

void add_tune(Command command, TuneOptions& options) {
  command.choice(
      "--plan", {"auto", "layered", "fused"},
      "choose among plans that go layer by layer, among those of all layers at once, or among both, unless "
      "--backend is given [auto]",
      [&options](const std::string& text) { options.plan = text; });
  command.milliseconds("--warmup-ms", options.warmup_ms, "warm each candidate up that long [10]");
  command.milliseconds("--min-time-ms", options.min_time_ms, "time each candidate that long [50]");
  add_seed(command, options, "seed of the pictures [1]");
  add_network(command, options);
  add_output(command, options);
  add_execution(command, options);
  command.footer(
      "Examples:\n"
      "  lenslet tune --batch-size 10000 --save-plan plan.json\n"
      "  lenslet tune --device cpu --batch-size 64 --json tune.json\n"
      "  lenslet tune --plan layered --math tf32 --backend conv1=direct\n"
      "A candidate that answers wrongly is FAILED, is never chosen, and gives exit code 1; the plan is "
      "written all the "
      "same.");
}

// Values between commas, each read by `parse`; completion offers `words`.
template <typename T, typename Parse>
void add_list(Command& command, const std::string& name, const std::string& help,
              const std::vector<std::string>& words, std::vector<T>& target, Parse parse) {
  command.option(name, "LIST", help, [&target, name, parse](const std::string& text) {
    target.clear();
    for (const std::string& word : split_list(name, text)) target.push_back(parse(word));
  });
  command.suggest(name, [words] { return Suggestions{words, {}}; });
}

void add_bench(Command command, ModelBenchOptions& options) {
  command.option(
      "--batch-sizes", "LIST",
      "images computed together, such as 1,64,1024 or 1:1048576:x4 [that, on the CPU to 16384; with "
      "--latency 1,8,64]",
      [&options](const std::string& text) {
        options.batch_sizes = parse_sizes("--batch-sizes", text, kMaxBatch);
      });
  add_list(command, "--plan", "layered, fused or both [layered,fused]", kBenchPlans, options.plans,
           [](const std::string& word) { return parse_word("--plan", word, kBenchPlans); });
  add_list(command, "--backend", "variants of the fused plan, or all [the one that auto takes]", {},
           options.variants, [](const std::string& word) { return word; });
  command.suggest("--backend", variant_suggestions);
  add_list(command, "--math", "of fp32, tf32, fp16 [all on a GPU, fp32 on the CPU]", {"fp32", "tf32", "fp16"},
           options.maths, [](const std::string& word) { return parse_math_mode(word); });
  add_list(command, "--input", "fp32, uint8 or both [fp32,uint8]", kInputs, options.inputs, parse_input);
  add_list(command, "--output", "logits, prediction or both [logits,prediction]", kOutputs, options.outputs,
           parse_output);
  command.choice("--cache", {"cold", "hot", "both"},
                 "flush the caches before each run, repeat it, or both [hot]",
                 [&options](const std::string& text) {
                   options.measure.hot = text != "cold";
                   options.measure.cold = text != "hot";
                 });
  command.milliseconds("--warmup-ms", options.measure.warmup_ms, "warm each configuration up that long [20]");
  command.milliseconds("--min-time-ms", options.measure.min_time_ms,
                       "time each configuration that long, in 20 windows at least [100]");
  command.flag("--latency", options.latency,
               "time single calls, from page-locked host memory to page-locked host memory");
  command.integer("--calls", kLeastCalls, kMostCalls, options.calls, "calls of each --latency mode [2000]");
  command.flag("--strict", options.strict,
               "exit with 1 where a row is SUSPECT: faster than the machine can be");
  command.text("--data", "DIR", options.data,
               "folder with MNIST's IDX files [LENSLET_MNIST_DIR, then ./data, else digits are drawn]");
  command.text("--weights", "FILE", options.weights, "weights as safetensors [built in]");
  add_seed(command, options, "seed of the order of the pictures [1]");
  add_execution(command, options);
  command.footer(
      "Examples:\n"
      "  lenslet bench --batch-sizes 1:1048576:x4 --json bench.json\n"
      "  lenslet bench --plan fused --backend all --math fp16 --input uint8 --batch-sizes 262144\n"
      "  lenslet bench --device cpu --threads 1 --batch-sizes 1\n"
      "  lenslet bench --latency --plan fused --batch-sizes 1,64\n"
      "Every configuration is verified before, while and after it is timed, and counted on MNIST's test "
      "images; more\n"
      "than 3 digits off fp32, or a wrong answer, gives exit code 1.");
}

void add_backends(Command command, BackendsOptions& options) {
  command.repeated("--problem", "STR", "a convolution instead of the model's layers; may be given repeatedly",
                   [&options](const std::string& text) { options.problems.push_back(text); });
  command.text("--weights", "FILE", options.weights, "weights as safetensors [built in]");
  add_math(command, options);
  command.option("--batch-size", "N", "batch of the model's layers [1]", [&options](const std::string& text) {
    options.batch_size = parse_integer("--batch-size", text, 1, kMaxBatch);
  });
  add_execution(command, options);
  command.footer(
      "Examples:\n"
      "  lenslet backends\n"
      "  lenslet backends --device cpu --batch-size 64\n"
      "  lenslet backends --problem mb1ic3ih256oc3oh256kh3ph1");
}

void add_doctor(Command command, DoctorOptions& options) {
  add_execution(command, options);
  add_seed(command, options, "seed of the self-test's data [1]");
  command.footer(
      "Examples:\n"
      "  lenslet doctor\n"
      "  lenslet doctor --device cpu --json doctor.json\n"
      "Without a GPU the GPU backends are SKIPPED, which is no failure; a FAILED backend gives exit code 1.");
}

}  // namespace

std::function<ExitCode()> parse_command_line(int argc, const char* const* argv) {
  CommandLine line("lenslet", "LeNet-5 inference with interchangeable convolution backends",
                   "lenslet classify samples/digit_3_a.png");
  line.environment("LENSLET_MNIST_DIR", "folder with MNIST's IDX files, where --data is not given");
  line.environment("LENSLET_NUM_THREADS", "CPU threads, where --threads is not given");
  line.environment("LENSLET_MODULE_PATH", "folder of the modules for cuBLAS, cuDNN and oneDNN");
  line.environment("LENSLET_DEVICE_MEMORY_LIMIT",
                   "bytes to take of each device at most, such as 2G; the CPU is one");
  line.environment("LENSLET_DEVICE_TIMEOUT",
                   "seconds to wait for a GPU before it counts as lost [120]; 0: for ever");
  line.environment("LENSLET_TRACE",
                   "1: print every choice to stderr: device, plan, backend, library, algorithm");
  line.environment("LENSLET_CHECK_LAYERS",
                   "1: wait after every layer, so that a fault on a GPU is told of its layer");
  // Shared with the function returned, which outlives this call.
  struct Options {
    ClassifyOptions classify;
    EvalOptions eval;
    ProfileCommandOptions profile;
    TuneOptions tune;
    ModelBenchOptions bench;
    BackendsOptions backends;
    DoctorOptions doctor;
  };
  const auto options = std::make_shared<Options>();
  add_classify(line.command("classify", "Read the digit in pictures",
                            [options] { return run_classify(options->classify); }),
               options->classify);
  add_eval(
      line.command("eval", "Count correct digits of MNIST", [options] { return run_eval(options->eval); }),
      options->eval);
  add_profile(
      line.command("profile", "Time every layer", [options] { return run_profile(options->profile); }),
      options->profile);
  add_tune(line.command("tune", "Find the fastest plan for a batch, by timing",
                        [options] { return run_tune(options->tune); }),
           options->tune);
  add_bench(line.command("bench", "Measure images a second, and the time of single calls",
                         [options] { return run_bench(options->bench); }),
            options->bench);
  add_backends(line.command("backends", "Show which backend can serve which layer",
                            [options] { return run_backends(options->backends); }),
               options->backends);
  add_doctor(line.command("doctor", "Check driver, libraries and every backend",
                          [options] { return run_doctor(options->doctor); }),
             options->doctor);
  return line.parse(argc, argv);
}

}  // namespace lenslet
