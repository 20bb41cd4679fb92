#include "apps/lenslet/cli.h"

#include "api/model_setup.h"
#include "apps/common/command_line/shared_options.h"
#include "apps/common/program/report_command.h"
#include "apps/lenslet/commands.h"
#include "apps/lenslet/pages/pass_profile.h"
#include "apps/lenslet/suggestions.h"
#include "apps/measuring/cache_option.h"
#include "framework/execution/plan.h"
#include "models/prediction.h"

namespace lenslet {
namespace {

// Above every useful value, so that a digit too many is an error at once; products of them fit 64 bits. A request does
// not wait for others longer than a second.
constexpr int64_t kMaxStreams = 64, kMaxRepeat = 1'000'000'000;
constexpr int64_t kMaxServedBatch = 65536, kMaxDelayUs = 1'000'000;
constexpr int64_t kMinCalls = 10, kMaxCalls = 1'000'000;  // a p90 needs 10; a million samples are 8 MB

constexpr const char* kClassifyExamples = R"(Examples:
  lenslet classify samples/digit_3_a.png --explain
  lenslet classify photos/ --json answers.json
  lenslet classify t10k-images-idx3-ubyte.gz --limit 10 --device cpu
If a picture cannot be read, the others are still classified and the exit code is 3.)";

constexpr const char* kEvalExamples = R"(Examples:
  lenslet eval --data mnist --device cpu
  lenslet eval --backend conv1=direct,conv2=winograd --min-accuracy 0.99
  lenslet eval --device cuda --plan fused --input uint8 --batch-size 65536 --streams 3 --repeat 20000
  lenslet eval --backend-matrix --backend fc1=direct,fc2=direct,fc3=direct --json matrix.json
  lenslet eval --model my.onnx --data photos --labels classes.txt --keep-aspect
  lenslet eval --model my.onnx --data set.npz)";

constexpr const char* kProfileExamples = R"(Examples:
  lenslet profile --batch-size 10000
  lenslet profile --device cpu --backend conv2=im2col_gemm --cache hot
  lenslet profile --plan fused --input uint8 --output prediction --batch-size 65536
  lenslet profile --trace pass.json --json profile.json)";

constexpr const char* kTuneExamples = R"(Examples:
  lenslet tune --batch-size 10000 --save-plan plan.json
  lenslet tune --device cpu --batch-size 64 --json tune.json
  lenslet tune --plan layered --math tf32 --backend conv1=direct
A candidate with a wrong result is FAILED and never chosen. The plan is still written; the exit
code is 1.)";

constexpr const char* kBenchExamples = R"(Examples:
  lenslet bench --batch-sizes 1:1048576:x4 --json bench.json
  lenslet bench --plan fused --backend all --math fp16 --input uint8 --batch-sizes 262144
  lenslet bench --device cpu --threads 1 --batch-sizes 1
  lenslet bench --latency --plan fused --batch-sizes 1,64
  lenslet bench --plan plan.json --batch-sizes 64
Each configuration is verified before, during and after timing, and its digits are counted on the
MNIST test images. A wrong result, or more than 3 digits difference from fp32, gives exit code 1.)";

constexpr const char* kBackendsExamples = R"(Examples:
  lenslet backends
  lenslet backends --device cpu --batch-size 64
  lenslet backends --problem mb1ic3ih256oc3oh256kh3ph1)";

constexpr const char* kDoctorExamples = R"(Examples:
  lenslet doctor
  lenslet doctor --device cpu --json doctor.json
  lenslet doctor --model my.onnx
Without a GPU the GPU backends are SKIPPED, which is not a failure. A FAILED backend gives exit
code 1.)";

constexpr const char* kReportExamples = R"(Needs Python with matplotlib.
Examples:
  lenslet report bench.json --html bench.html
  lenslet report profile.json --beside before.json --html both.html
  lenslet report profile.json --figures figures --format pdf)";

constexpr const char* kInspectExamples = R"(Examples:
  lenslet inspect model.onnx
  lenslet inspect model.onnx --json model.json
A model that Lenslet cannot run is described too, with all reasons, and gives exit code 0.)";

constexpr const char* kDiffExamples = R"(Examples:
  lenslet diff model.onnx --against onnxruntime
  lenslet diff model.onnx --against values.npz --json diff.json
An .npz file has the input under the name of the model's input, and values of any other tensors
under theirs. A difference beyond its bound gives exit code 1. Without a Python that has
onnxruntime, --against onnxruntime gives exit code 4.)";

constexpr const char* kShowExamples = R"(Examples:
  lenslet show samples/digit_3_a.png --html three.html
  lenslet show cat.jpg --model my.onnx --labels classes.txt --html cat.html
The page holds the picture, each step to the network's input, the values and the time of each layer.
It loads nothing from the network. lenslet serve has the same page to draw on.)";

constexpr const char* kServeExamples = R"(Examples:
  lenslet serve
  lenslet serve --port 0 --model my.onnx --max-batch 256 --max-delay-us 500
  curl --data-binary @samples/digit_3_a.png http://127.0.0.1:8080/classify
Clients of the Open Inference Protocol v2 (REST) work unchanged. SIGTERM and SIGINT answer the
requests that were received, then end it with exit code 0.)";

// The table of options, a group to a function. The help lists the options in the order in which they are added.
struct OptionTable {
  CommandLine line{"lenslet", "LeNet-5 inference with interchangeable convolution backends",
                   "lenslet classify samples/digit_3_a.png"};

  Commands<ClassifyOptions> classify;
  Commands<EvalOptions> eval;
  Commands<ProfileCommandOptions> profile;
  Commands<TuneOptions> tune;
  Commands<ModelBenchOptions> bench;
  Commands<BackendsOptions> backends;
  Commands<DoctorOptions> doctor;
  Commands<InspectOptions> inspect;
  Commands<DiffOptions> diff;
  Commands<ShowOptions> show;
  Commands<ServeOptions> serve;
  decltype(classify | eval | profile | tune) model;
  decltype(model | bench | backends | doctor) all;
  decltype(classify | eval | serve | show) pictures;

  OptionTable() {
    add_commands();
    add_inputs();
    add_eval_results();
    add_measuring();
    add_model();
    add_passes();
    add_server();
    add_results();
    add_rules();
  }
  void add_commands();
  void add_inputs();
  void add_picture_reading();
  void add_eval_results();
  void add_measuring();
  void add_model();
  void add_passes();
  void add_server();
  void add_results();
  void add_rules();
};

void OptionTable::add_commands() {
  line.environment("LENSLET_MNIST_DIR", "folder with the MNIST IDX files, unless --data is given");
  line.environment("LENSLET_MAX_COMPUTED_WEIGHTS",
                   "weights that the constant nodes of an ONNX model may compute, such as 200000000");
  line.environment("LENSLET_REPORT_SCRIPT",
                   "script that draws a report [share/lenslet/report beside the program]");
  line.environment("LENSLET_DIFF_SCRIPT",
                   "script that runs ONNX Runtime [share/lenslet/diff beside the program]");
  line.environment("LENSLET_PYTHON", "Python interpreter for these scripts [python3]");

  classify = line.command("classify", "Read the number in pictures", run_classify, kClassifyExamples);
  eval = line.command("eval", "Count correct digits of MNIST, or correct answers of any classifier", run_eval,
                      kEvalExamples);
  profile = line.command("profile", "Time every layer", run_profile, kProfileExamples);
  tune = line.command("tune", "Find the fastest plan for a batch size by timing", run_tune, kTuneExamples);
  bench =
      line.command("bench", "Measure images per second and single-call latency", run_bench, kBenchExamples);
  add_report_command(line, kReportExamples);
  backends =
      line.command("backends", "Show which backends support which layer", run_backends, kBackendsExamples);
  doctor = line.command("doctor", "Check the driver, the libraries and every backend", run_doctor,
                        kDoctorExamples);
  inspect = line.command("inspect", "Show what an ONNX model contains and what Lenslet can run of it",
                         run_inspect, kInspectExamples);
  diff = line.command("diff", "Compare a model layer by layer with another framework's values", run_diff,
                      kDiffExamples);
  show = line.command("show", "Write a page that shows what each layer does with a picture", run_show,
                      kShowExamples);
  serve = line.command("serve", "Serve a model over HTTP (Open Inference Protocol v2)", run_serve,
                       kServeExamples);
  model = classify | eval | profile | tune;
  all = model | bench | backends | doctor;
  pictures = classify | eval | serve | show;
}

// What the commands read.
void OptionTable::add_inputs() {
  line.arguments("inputs", Text{"FILE|DIR|-"}, LENSLET_MEMBER(inputs),
                 "pictures (PNG, JPEG, BMP, PNM), IDX files, folders of pictures, or '-' for one picture "
                 "from standard input",
                 classify, 1);
  line.arguments("picture", Text{"FILE"}, LENSLET_MEMBER(inputs), "picture (PNG, JPEG, BMP, PNM)", show, 1,
                 1);
  line.option("--html", Text{"FILE.html", nullptr, {".html", ".htm"}, true}, LENSLET_MEMBER(html),
              "the page to write; '-' is standard output [lenslet.html]", show);
  line.arguments("file", Text{"FILE|-"}, LENSLET_MEMBER(files),
                 "ONNX model of any name, or '-' for standard input", inspect, 1, 1);
  line.arguments("file", Text{"FILE", nullptr, {".onnx"}}, LENSLET_MEMBER(files), "ONNX model (.onnx)", diff,
                 1, 1);
  line.option("--against", Text{"FILE|onnxruntime"}, LENSLET_MEMBER(against),
              "what to compare with: values in an .npz file, or those that ONNX Runtime computes", diff);
  line.option("--samples", Integer{1, kMaxModelBatch}, LENSLET_MEMBER(samples),
              "random samples for ONNX Runtime [8]", diff);
  line.flag("--explain", LENSLET_MEMBER(explain), "show each step from the picture to the model's input",
            classify);
  line.option("--data", Text{"DIR|FILE"}, LENSLET_MEMBER(data),
              "folder with IDX files named as MNIST's, or with a folder of pictures for each class, or "
              "arrays as .npz "
              "(inputs and labels) or .npy [LENSLET_MNIST_DIR, else ./data]",
              eval);
  line.option("--answers", Text{"FILE", nullptr, {".npy"}}, LENSLET_MEMBER(answers),
              "the class of each sample of --data FILE.npy", eval);
  line.option("--data", Text{"DIR"}, LENSLET_MEMBER(data),
              "folder with the MNIST IDX files [LENSLET_MNIST_DIR, else ./data, else drawn digits]", bench);
  line.option("--split", words({"t10k", "train"}), LENSLET_MEMBER(split), "which images", eval);
  line.option("--limit", Integer{1}, LENSLET_MEMBER(limit), "classify at most N images of each IDX file",
              classify);
  line.option("--limit", Integer{1}, LENSLET_MEMBER(limit), "evaluate only the first N images", eval);
  line.option("--index", Integer{0}, LENSLET_MEMBER(index), "classify only image N of each IDX file",
              classify);
  add_picture_reading();
  line.repeated("--problem", Text{"STR"}, LENSLET_MEMBER(problems),
                "a convolution to show instead of the model's layers; may be given repeatedly", backends);
}

// How pictures are read.
void OptionTable::add_picture_reading() {
  add_picture_limits(line, pictures);
  line.option("--mean", List{Number{-1000, 1000}}, LENSLET_MEMBER(mean),
              "mean of pixels / 255 for an ONNX network, one number or one per channel "
              "[the model's metadata, else 0; of digits MNIST's 0.1307]",
              pictures);
  line.option("--std", List{Number{1e-6, 1000}}, LENSLET_MEMBER(std),
              "standard deviation of pixels / 255, likewise [the model's metadata, else 1; of digits 0.3081]",
              pictures);
  line.flag("--keep-aspect", LENSLET_MEMBER(fit.keep_aspect),
            "cut the middle out of a picture of another aspect than the network's, instead of stretching it",
            pictures);
  line.option(
      "--size", Integer{1, kMaxPictureSide}, LENSLET_MEMBER(fit.size),
      "scale a picture's shorter side to N pixels and cut the network's rows and columns out of the middle",
      pictures);
  line.option("--channels", Words<bool>{{{"rgb", false}, {"bgr", true}}}, LENSLET_MEMBER(fit.bgr),
              "order of the colours that the network reads", pictures);
  line.option("--labels", Text{"FILE"}, LENSLET_MEMBER(labels),
              "names of the classes, one per line; an ONNX network then reads pictures, never digits",
              pictures);
}

// What eval requires and writes.
void OptionTable::add_eval_results() {
  line.option("--min-accuracy", Number{0, 1}, LENSLET_MEMBER(min_accuracy),
              "exit with code 1 if the accuracy is below this fraction, such as 0.99", eval);
  line.flag("--backend-matrix", LENSLET_MEMBER(backend_matrix),
            "run every legal combination of backends and compare the answers; layers named in --backend keep "
            "their backend",
            eval);
  line.option("--streams", Integer{1, kMaxStreams}, LENSLET_MEMBER(streams),
              "stream the images from page-locked host memory through N streams, in chunks of --batch-size, "
              "and show the share of the bus rate (GPU only) [3 with --repeat]",
              eval);
  line.option("--repeat", Integer{1, kMaxRepeat}, LENSLET_MEMBER(repeat),
              "stream the data set N times [with --streams: as often as a second allows]", eval);
  line.option("--misses", Text{"FILE"}, LENSLET_MEMBER(misses),
              "list of the misclassified images as CSV; '-' is standard output", eval);
  line.option("--contact-sheet", Text{"FILE", nullptr, {".png", ".pgm"}}, LENSLET_MEMBER(contact_sheet),
              "picture of the misclassified images (.png or .pgm)", eval);
  line.option("--logits", Text{"FILE"}, LENSLET_MEMBER(logits),
              "the logits as .npy, as .safetensors, or as raw fp32 with any other ending", eval);
}

// How times are measured.
void OptionTable::add_measuring() {
  line.option(
      "--batch-sizes", Sizes(kMaxModelBatch), LENSLET_MEMBER(batch_sizes),
      "images computed together, such as 1,64,1024 [1:1048576:x4; on the CPU 1:16384:x4; with --latency "
      "1,8,64]",
      bench);
  line.flag("--latency", LENSLET_MEMBER(latency),
            "time single calls from page-locked host memory and back to it", bench);
  line.option("--calls", Integer{kMinCalls, kMaxCalls}, LENSLET_MEMBER(calls), "calls of each --latency mode",
              bench);
  line.option("--cache", words({"cold", "hot", "both"}), LENSLET_MEMBER(cache),
              "time layers with flushed caches (cold), inside a whole pass (hot), or both", profile);
  line.option("--cache", cache_states(), LENSLET_MEMBER(measure),
              "flush the caches before each run (cold), repeat it (hot), or both", bench);
  line.option("--warmup-ms", milliseconds(), LENSLET_MEMBER(warmup_ms),
              "warm up this long before each measurement", profile | tune);
  line.option("--warmup-ms", milliseconds(), LENSLET_MEMBER(measure.warmup_ms),
              "warm up each configuration this long", bench);
  line.option("--min-time-ms", milliseconds(), LENSLET_MEMBER(min_time_ms),
              "measure each quantity this long, 5,000 passes at most", profile);
  line.option("--min-time-ms", milliseconds(), LENSLET_MEMBER(min_time_ms), "time each candidate this long",
              tune);
  line.option("--min-time-ms", milliseconds(), LENSLET_MEMBER(measure.min_time_ms),
              "time each configuration this long, in 20 windows at least", bench);
  line.option("--trace", Text{"FILE"}, LENSLET_MEMBER(trace),
              "Chrome trace of one pass, for Perfetto; '-' is standard output", profile);
  line.flag("--capture", LENSLET_MEMBER(capture),
            "bracket the measured part with cudaProfilerStart/Stop, for Nsight", profile);
  line.flag("--strict", LENSLET_MEMBER(strict),
            "exit with code 1 if a row is SUSPECT (faster than the machine's limits)", profile | bench);
  line.option("--seed", Integer{0}, LENSLET_MEMBER(seed), "seed of the random images", profile | tune);
  line.option("--seed", Integer{0}, LENSLET_MEMBER(seed), "seed of the order of the pictures", bench);
  line.option("--seed", Integer{0}, LENSLET_MEMBER(seed), "seed of the self-test's data", doctor);
  line.option("--seed", Integer{0}, LENSLET_MEMBER(seed), "seed of the random samples", diff);
}

// The model and its plan.
void OptionTable::add_model() {
  const auto maths = words(kMathModes, to_string);
  line.option("--weights", Text{"FILE"}, LENSLET_MEMBER(weights),
              "weights as safetensors, or a built-in set: mnist or robust [mnist; classify, serve and show: "
              "robust]",
              model | bench | backends | serve | show);
  line.option("--model", Text{"FILE", nullptr, {".onnx"}}, LENSLET_MEMBER(model),
              "a network as ONNX (.onnx), instead of --weights", model | bench | backends | serve | show);
  line.option("--model", Text{"FILE", nullptr, {".onnx"}}, LENSLET_MEMBER(model),
              "test the layers of this network (.onnx) instead of each kind of layer", doctor);
  line.option("--plan", Text{"auto|layered|fused|FILE"}, LENSLET_MEMBER(plan),
              "layer by layer (layered), the whole network at once (fused), or the choices in a saved plan "
              "(.json); auto: layered with --backend, else fused for bytes, for predictions, and on the CPU "
              "where a whole-network backend supports it, else layered",
              pictures);
  line.option("--plan", Text{"auto|layered|fused|FILE"}, LENSLET_MEMBER(plan),
              "layer by layer (layered), the whole network at once (fused), or the choices in a saved plan "
              "(.json); auto: layered, but fused for bytes and for predictions",
              profile);
  line.option("--plan", words({"auto", "layered", "fused"}), LENSLET_MEMBER(plan),
              "choose among plans layer by layer (layered), backends of the whole network (fused), or both; "
              "auto with --backend: layered only",
              tune);
  line.option("--plan", List{Text{"layered|fused|FILE"}}, LENSLET_MEMBER(plans),
              "layered, fused or both, or the choices in a saved plan (.json)", bench);
  line.option(
      "--backend", Text{"SPEC", backend_suggestions}, LENSLET_MEMBER(backend),
      "one for all layers, such as cudnn, or by layer: conv1=direct,conv2=winograd,*=auto; with --plan "
      "fused a whole-network backend [auto]",
      model | diff | serve | show);
  line.option("--backend", List{Text{"", network_backend_suggestions}}, LENSLET_MEMBER(backends),
              "whole-network backends, or all [the one that auto selects]", bench);
  line.option(
      "--math", maths, LENSLET_MEMBER(math),
      "least exact arithmetic of convolutions and matrix products; auto may take a more exact mode for a "
      "layer, and prints it [fp32]",
      model | backends | diff | serve | show);
  line.option("--math", List{maths}, LENSLET_MEMBER(maths),
              "arithmetic: any of fp32, tf32, fp16, int8 [the first three on a GPU, fp32 on the CPU]", bench);
}

// How a pass runs: its input and output, its batch, its device.
void OptionTable::add_passes() {
  const auto inputs = words({ElementType::kFp32, ElementType::kUint8, ElementType::kUint4}, to_string);
  const Words<ElementType> outputs = {{{"logits", ElementType::kFp32}, {"prediction", kPrediction}}};
  line.option(
      "--input", inputs, LENSLET_MEMBER(input),
      "the model reads normalised images (fp32), their bytes (uint8) or these rounded to 4 bits (uint4); the "
      "last two with the whole-network plan only [fp32]",
      model);
  line.option("--input", List{inputs}, LENSLET_MEMBER(inputs), "any of fp32, uint8, uint4", bench);
  line.option(
      "--output", outputs, LENSLET_MEMBER(output),
      "the model writes 10 logits, or class and probability (prediction, whole-network plan only) [logits]",
      profile | tune);
  line.option("--output", List{outputs}, LENSLET_MEMBER(outputs), "logits, prediction or both", bench);
  line.option(
      "--place", List{words({ModelBenchOptions::kDevice, ModelBenchOptions::kHost})}, LENSLET_MEMBER(places),
      "a pass alone (device), or a whole call from ordinary host memory and back (host) [both]", bench);
  line.option("--batch-size", Integer{1, kMaxModelBatch}, LENSLET_MEMBER(batch_size),
              "images computed together", model | diff);
  line.option("--batch-size", Integer{1, kMaxShownBatch}, LENSLET_MEMBER(batch_size),
              "batch size of the times on the page [1]", show);
  line.option("--batch-size", Integer{1, kMaxModelBatch}, LENSLET_MEMBER(batch_size),
              "batch size of the model's layers [1]", backends);
  line.option("--graph", words({GraphUse::kAuto, GraphUse::kOn, GraphUse::kOff}, to_string),
              LENSLET_MEMBER(graph),
              "replay passes as a captured CUDA graph: each (on), none (off), or those of up to 256 samples "
              "that a GPU "
              "computes layer by layer [auto]",
              eval | profile | serve);
  line.option("--save-plan", Text{"FILE.json", nullptr, {".json"}, true}, LENSLET_MEMBER(save_plan),
              "write the choices that were made; --plan FILE replays them; '-' is standard output", model);
  add_execution_options(line, "layer", all | diff | serve | show,
                        "; for eval and classify also several GPUs, cuda:all or cuda:0,2");
  add_table_options(line, eval | profile | tune | bench | backends | doctor | inspect | diff);
}

void OptionTable::add_server() {
  line.option("--port", Integer{0, 65535}, LENSLET_MEMBER(port), "TCP port; 0: a free one", serve);
  line.option("--host", Text{"ADDRESS"}, LENSLET_MEMBER(host),
              "IP address to listen at; 0.0.0.0 or :: serves other machines too", serve);
  line.option("--allow-host", List{Text{"NAME"}}, LENSLET_MEMBER(allow_host),
              "names under which clients reach this machine, besides addresses and localhost [none]", serve);
  line.option("--max-batch", Integer{1, kMaxServedBatch}, LENSLET_MEMBER(max_batch),
              "compute the samples of waiting requests together, up to N", serve);
  line.option("--max-delay-us", Integer{0, kMaxDelayUs}, LENSLET_MEMBER(max_delay_us),
              "wait up to N microseconds for more samples before a batch that is not full", serve);
  line.option("--max-queue", Integer{1, kMaxModelBatch}, LENSLET_MEMBER(max_queue),
              "let up to N samples wait; requests beyond get status 503", serve);
  line.option("--max-body", ByteCount{}, LENSLET_MEMBER(max_body), "bytes of a request's body", serve);
  line.option("--max-connections", Integer{1, kMaxModelBatch}, LENSLET_MEMBER(max_connections),
              "connections at a time; further ones are closed at once", serve);
  line.option(
      "--timeout", Number{0.1, 3600, "SECONDS"}, LENSLET_MEMBER(timeout_s),
      "close a connection whose client takes longer to send a header, to send a body or to take an answer",
      serve);
}

void OptionTable::add_results() {
  line.flag("--verbose", LENSLET_MEMBER(verbose),
            "also the libraries, every backend, and what a missing GPU would offer",
            backends | doctor | inspect);
  line.option("--json", Text{"FILE"}, LENSLET_MEMBER(json), "result as JSON; '-' is standard output",
              all | inspect | diff);
  line.option("--csv", Text{"FILE"}, LENSLET_MEMBER(csv), "result as CSV; '-' is standard output",
              all | inspect | diff);
}

// Options that exclude or require each other.
void OptionTable::add_rules() {
  line.refuse(
      "--model and --weights exclude each other; leave one out",
      [](const auto& o) { return !o.model.empty() && !o.weights.empty(); },
      model | bench | backends | serve | show);
  line.refuse(
      "--weights takes LeNet-5's weights as safetensors; give an ONNX file by --model",
      [](const auto& o) { return ends_with(o.weights, ".onnx"); }, model | bench | backends | serve | show);
  line.refuse(
      "diff needs --against FILE.npz or --against onnxruntime",
      [](const auto& o) { return o.against.empty(); }, diff);
  line.refuse(
      "--size and --keep-aspect cut a picture in different ways; leave one out",
      [](const auto& o) { return o.fit.size && o.fit.keep_aspect; }, pictures);
  line.refuse(
      "--index and --limit exclude each other; leave one out",
      [](const auto& o) { return o.index && o.limit; }, classify);
  const auto layered = [](const auto& o) {
    return o.plan == Plan::kLayered || (o.plan != Plan::kFused && !o.backend.empty());
  };
  line.refuse(
      "--input uint8 and uint4 need --plan fused; the layered plan, also that of --backend without --plan, "
      "reads fp32: choose --plan fused, or leave out --input",
      [layered](const auto& o) { return layered(o) && o.ends().input != ElementType::kFp32; }, model);
  line.refuse(
      "--output prediction needs --plan fused; the layered plan, also that of --backend without --plan, "
      "writes logits: choose --plan fused, or leave out --output",
      [layered](const auto& o) { return layered(o) && o.ends().output != ElementType::kFp32; },
      profile | tune);
  line.refuse(
      "--latency has ways of its own from host memory and back; leave out --place",
      [](const auto& o) { return o.latency && !o.places.empty(); }, bench);
  line.refuse(
      "--backend-matrix chooses the backends itself; leave out --plan",
      [](const auto& o) {
        return o.backend_matrix && o.plan != Plan::kLayered && o.plan != ModelSetup::kAuto;
      },
      eval);
  line.refuse(
      "--misses, --contact-sheet, --logits and --save-plan belong to one run; leave out --backend-matrix",
      [](const auto& o) {
        return o.backend_matrix &&
               !(o.misses.empty() && o.contact_sheet.empty() && o.logits.empty() && o.save_plan.empty());
      },
      eval);
  line.refuse(
      "--streams and --repeat belong to one run; leave out --backend-matrix",
      [](const auto& o) { return o.backend_matrix && (o.streams || o.repeat); }, eval);
  line.refuse(
      "--backend-matrix runs every input of each plan; leave out --input",
      [](const auto& o) { return o.backend_matrix && o.input; }, eval);
  line.refuse(
      "--problem states its batch as mb; leave out --batch-size",
      [](const auto& o) { return !o.problems.empty() && o.batch_size; }, backends);
}

}  // namespace

CommandLine lenslet_command_line() { return OptionTable().line; }

}  // namespace lenslet
