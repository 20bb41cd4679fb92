#include "apps/convbench/cli.h"

#include <cstdint>
#include <vector>

#include "apps/common/command_line/shared_options.h"
#include "apps/common/program/report_command.h"
#include "apps/convbench/commands/commands.h"
#include "apps/convbench/commands/compare.h"
#include "apps/convbench/gemm_study/gemm_study.h"
#include "apps/convbench/stencil/stencil_study.h"
#include "apps/measuring/cache_option.h"
#include "framework/base/error.h"
#include "framework/io/file.h"
#include "layers/conv/conv_registry.h"
#include "layers/conv/gpu/ladder/conv_ladder.h"

namespace lenslet {
namespace {

// Above the side of any image: a tensor has fewer than 2^31 elements.
constexpr int64_t kMaxSize = 1 << 16;
// The columns of im2col, [27, size^2], take 7 GiB; at twice the size they would take 27 GiB.
constexpr int64_t kMaxGemmSize = 8192;

Words<std::vector<TensorLayout>> layout_words() {
  Words<std::vector<TensorLayout>> result;
  result.known.emplace_back("nchw", std::vector<TensorLayout>{TensorLayout::kNchw});
  result.known.emplace_back("nhwc", std::vector<TensorLayout>{TensorLayout::kNhwc});
  result.known.emplace_back("both", std::vector<TensorLayout>{TensorLayout::kNchw, TensorLayout::kNhwc});
  return result;
}

constexpr const char* kRunExamples = R"(Examples:
  convbench run --problem mb8ic64ih128oc128oh126kh3 --backend implicit_gemm,winograd,cudnn
  convbench run --problems layers/conv/problems/deep3x3.txt --math tf32 --layout both --json deep.json
  convbench run --problem mb1ic3ih512oc3kh3ph1 --device cpu)";

constexpr const char* kSweepExamples =
    R"(One image, C=3, 3x3, padding 1. The time of the kernel and the time with the copies from and to
the host are separate columns.
Examples:
  convbench sweep --json sweep.json --report sweep.html
  convbench sweep --sizes 256:1024:x2 --strides 1 --out-channels 3 --backend direct,im2col_gemm,cudnn
  convbench sweep --device cpu --sizes 256,512)";

constexpr const char* kLadderExamples = R"(Examples:
  convbench ladder implicit_gemm --json ladder.json
  convbench ladder direct --problem mb1ic3ih1024oc3kh3ph1)";

constexpr const char* kFilterExamples =
    R"(Each of the three colours is filtered separately, with zeros around the picture. A sum becomes
the byte floor(scale * sum + 1/2), clamped to 0 to 255. Every backend must give the same bytes.
Examples:
  convbench filter --input photo.jpg --output edges.png
  convbench filter --input photo.jpg --output small.png --filter blur --stride 2 --backend direct,cudnn
  convbench filter --input photo.jpg --filter emboss.txt --device cpu)";

constexpr const char* kStreamsExamples =
    R"(Each chunk is copied in from page-locked memory, convolved and copied out on one stream. Chunks
are assigned to the streams in turn. Several streams can overlap copies and compute.
Examples:
  convbench streams --trace timeline.json
  convbench streams --problem mb64ic3ih512oc3kh3ph1 --backend direct --chunks 16 --streams 1,2,3)";

constexpr const char* kSeparableExamples =
    R"(Compares a standard 3x3 convolution with a depthwise 3x3 followed by a 1x1, each with its fastest
backend and with the vendor's library alone. fp32, without bias and activation.
Examples:
  convbench separable --json separable.json
  convbench separable --channels 64 --sizes 56,112 --batch-size 32)";

constexpr const char* kGemmExamples =
    R"(The matrix product of im2col for one RGB image, 3x3: filters [K, 27] times columns
[27, size * size], fp32, by the kernels of a course's laboratory, beside the vendor's library. What
the GPU cannot launch is UNSUPPORTED, with the limit of the GPU. Needs a GPU.
Examples:
  convbench gemm --json gemm.json
  convbench gemm --sizes 1024 --memory register --tiles 8,16 --partition none)";

constexpr const char* kStencilExamples =
    R"(Effective bandwidth counts input and output once; the ceiling is copying. Needs a GPU.
Examples:
  convbench stencil --json stencil.json
  convbench stencil --dimensions 1 --length 1000003 --taps 15 --boundary reflect)";

constexpr const char* kReproduceExamples =
    R"(Prints the figures that each study published for its GPU beside those of this GPU.
Studies:
  a  RGB images by direct, im2col + GEMM and cuDNN; the matrix product
  b  implicit GEMM, rung by rung, against cuDNN
  c  an RGB picture through an edge filter
  d  streams that overlap copies with compute; separable convolution
  e  1D and 2D convolution by where the filter is
Examples:
  convbench reproduce all --json all.json --csv all.csv --report all.html
  convbench reproduce b)";

constexpr const char* kReportExamples = R"(Needs Python with matplotlib.
Examples:
  convbench report all.json --html all.html
  convbench report new.json --beside old.json --html both.html
  convbench report all.json --figures figures --format png)";

constexpr const char* kCompareExamples = R"(Example:
  convbench compare old.json new.json --strict)";

// Names of the convolution backends for those kinds of device, without repetition, in rank order.
Suggestions backend_names(const std::vector<DeviceKind>& kinds) {
  Suggestions names;
  for (const DeviceKind kind : kinds) {
    for (const ConvBackendEntry& row : conv_backend_entries(kind)) add_new(names.words, {row.name()});
  }
  return names;
}

// The table of options, a group to a function. The help lists the options in the order in which they are added.
struct OptionTable {
  CommandLine line{"convbench", "Measure convolutions: any problem, any backend, and published studies",
                   "convbench run --problem mb1ic3ih256oc3kh3ph1"};

  Commands<RunOptions> run;
  Commands<SweepOptions> sweep;
  Commands<LadderOptions> ladder;
  Commands<FilterOptions> filter;
  Commands<StreamsOptions> streams;
  Commands<SeparableOptions> separable;
  Commands<GemmStudyOptions> gemm;
  Commands<StencilOptions> stencil;
  Commands<ReproduceOptions> reproduce;
  Commands<CompareOptions> compare;
  decltype(run | sweep | ladder | filter | streams | separable | gemm | stencil | reproduce) measured;

  OptionTable() {
    add_commands();
    add_problems();
    add_picture_filter();
    add_sizes();
    add_gemm();
    add_stencil();
    add_streams();
    add_execution();
    add_measuring();
    add_results();
    add_rules();
  }
  void add_commands();
  void add_problems();
  void add_picture_filter();
  void add_sizes();
  void add_gemm();
  void add_stencil();
  void add_streams();
  void add_execution();
  void add_measuring();
  void add_results();
  void add_rules();
};

void OptionTable::add_commands() {
  line.environment("LENSLET_REPORT_SCRIPT",
                   "script that draws a report [share/lenslet/report beside the program]");
  line.environment("LENSLET_PYTHON", "Python interpreter for that script [python3]");

  run = line.command("run", "Measure any problems on any backends", run_run, kRunExamples);
  sweep = line.command("sweep", "Sizes x strides x backends for one RGB image", run_sweep, kSweepExamples);
  ladder = line.command("ladder", "Optimise a convolution kernel step by step", run_ladder, kLadderExamples);
  filter = line.command("filter", "Filter a picture, with the same result from every backend", run_filter,
                        kFilterExamples);
  streams = line.command("streams", "Copies and compute on one stream and on several", run_streams,
                         kStreamsExamples);
  separable = line.command("separable", "A depthwise-separable block against the convolution it replaces",
                           run_separable, kSeparableExamples);
  gemm = line.command("gemm", "The matrix product of im2col by memory and by partition, beside cuBLAS",
                      run_gemm_study, kGemmExamples);
  stencil = line.command("stencil", "1D and 2D convolution with one filter, against copying", run_stencil,
                         kStencilExamples);
  reproduce = line.command("reproduce", "Published studies: their figures beside ours", run_reproduce,
                           kReproduceExamples);
  compare = line.command("compare", "Two result files: faster, slower, the same or unclear", run_compare,
                         kCompareExamples);
  add_report_command(line, kReportExamples);
  measured = run | sweep | ladder | filter | streams | separable | gemm | stencil | reproduce;
}

// What is measured.
void OptionTable::add_problems() {
  line.arguments("algorithm",
                 Text{"NAME",
                      [] {
                        return Suggestions{conv_ladder_algorithms(), {}};
                      }},
                 LENSLET_MEMBER(algorithms), "implicit_gemm, direct, tensor_core; none: all", ladder);
  line.arguments("study", words({"a", "b", "c", "d", "e", "all"}), LENSLET_MEMBER(studies),
                 "which of the published studies", reproduce, 1);
  line.arguments("files", Text{"OLD.json NEW.json"}, LENSLET_MEMBER(files), "two result files", compare, 2,
                 2);
  line.repeated("--problem", Text{"STR"}, LENSLET_MEMBER(problems),
                "a convolution, such as mb1ic3ih256oc3oh256kh3ph1; may be given repeatedly", run);
  line.repeated("--problem", Text{"STR"}, LENSLET_MEMBER(problems),
                "a convolution instead of the shapes of the study; may be given repeatedly", ladder);
  line.option("--problem", Text{"STR"}, LENSLET_MEMBER(problem), "a convolution with the whole batch",
              streams);
  line.repeated("--problems", Text{"FILE"}, LENSLET_MEMBER(problem_files),
                "a list of convolutions, also of benchdnn; may be given repeatedly", run | ladder);
}

void OptionTable::add_picture_filter() {
  line.option("--input", Text{"FILE"}, LENSLET_MEMBER(input),
              concat("the picture: ", picture_formats(), "; '-' is standard input"), filter);
  line.option("--output", Text{"FILE.png", nullptr, {".png"}}, LENSLET_MEMBER(output),
              "write the filtered picture [not written]", filter);
  add_picture_limits(line, filter);
  line.option("--filter", Text{"edge|blur|sharpen|FILE"}, LENSLET_MEMBER(filter),
              "by name, or a file with rows of numbers and, if needed, 'scale 1/16'", filter);
  line.option("--stride", Integer{1, 1024}, LENSLET_MEMBER(stride), "pixels from one output to the next",
              filter);
}

// The sizes of sweep, separable and gemm.
void OptionTable::add_sizes() {
  line.option("--sizes", Sizes(kMaxSize), LENSLET_MEMBER(sizes), "sizes, also as 256:4096:x2",
              sweep | separable);
  line.option("--sizes", Sizes(kMaxGemmSize), LENSLET_MEMBER(sizes), "sizes, also as 256:4096:x2", gemm);
  line.option("--strides", List{Integer{1, 16}}, LENSLET_MEMBER(strides), "strides", sweep);
  line.option("--out-channels", List{Integer{1, 1024}}, LENSLET_MEMBER(out_channels), "output channels K",
              sweep);
  line.option("--channels", List{Integer{1, 4096}}, LENSLET_MEMBER(channels), "channels in and out",
              separable);
  line.option("--batch-size", Integer{1, 4096}, LENSLET_MEMBER(batch), "images [8; on the CPU 1]", separable);
}

void OptionTable::add_gemm() {
  line.option("--memory", List{words(gemm_memory_modes()), "none"}, LENSLET_MEMBER(memory),
              "where operands come from", gemm);
  line.option("--out-channels", Integer{1, 1024}, LENSLET_MEMBER(out_channels), "filters K", gemm);
  line.option("--tiles", List{Integer{1, 1024}}, LENSLET_MEMBER(tiles), "threads along an edge of a tile",
              gemm);
  line.option("--partition", List{words(gemm_partitions()), "none"}, LENSLET_MEMBER(partitions),
              "what a thread computes", gemm);
  line.option("--blocks", List{Integer{1, 1024}}, LENSLET_MEMBER(blocks), "threads along an edge of a block",
              gemm);
}

void OptionTable::add_stencil() {
  line.option("--dimensions", List{Integer{1, 2}}, LENSLET_MEMBER(dimensions), "1, 2 or both", stencil);
  line.option("--length", Integer{1, 1 << 30}, LENSLET_MEMBER(length), "elements of the signal", stencil);
  line.option("--taps", Integer{1, 4095}, LENSLET_MEMBER(taps), "taps of the signal's filter", stencil);
  line.option("--height", Integer{1, 1 << 16}, LENSLET_MEMBER(height), "rows of the image", stencil);
  line.option("--width", Integer{1, 1 << 16}, LENSLET_MEMBER(width), "columns of the image", stencil);
  line.option("--radius", Integer{0, 31}, LENSLET_MEMBER(radius),
              "of the image's filter, which has 2 * radius + 1 taps along an edge", stencil);
  line.option(
      "--filter", List{words(stencil_filters())}, LENSLET_MEMBER(filters),
      "filter in global or constant memory, input tiled in shared memory, or several outputs per thread "
      "(vector)",
      stencil);
  line.option("--boundary", List{words(stencil_boundaries())}, LENSLET_MEMBER(boundaries),
              "values beyond the edges", stencil);
}

void OptionTable::add_streams() {
  line.option("--chunks", Integer{1, 4096}, LENSLET_MEMBER(chunks), "parts of the batch", streams);
  line.option("--streams", List{Integer{1, 64}}, LENSLET_MEMBER(streams),
              "number of streams that share the parts", streams);
  line.option("--trace", Text{"FILE"}, LENSLET_MEMBER(trace), "timeline of every stream, for ui.perfetto.dev",
              streams);
}

// On which device, by which backend.
void OptionTable::add_execution() {
  const auto all_names = [] { return backend_names({std::begin(kDeviceKinds), std::end(kDeviceKinds)}); };
  const auto names_and_auto = [all_names] {
    Suggestions names = all_names();
    add_new(names.words, {RunOptions::kAuto});
    return names;
  };
  line.option("--backend", List{Text{"", names_and_auto}, "all"}, LENSLET_MEMBER(backends),
              "names separated by commas; auto: the one that a layer takes for the problem", run);
  line.option("--backend", List{Text{"", all_names}, "all"}, LENSLET_MEMBER(backends),
              "names separated by commas", sweep | filter | separable);
  line.option("--backend", Text{"NAME", [] { return backend_names({DeviceKind::kCuda}); }},
              LENSLET_MEMBER(backend), "a backend of the GPU", streams);
  line.option("--dt", words(kFloatTypes, to_string), LENSLET_MEMBER(dt),
              "elements of input, filters and output in memory, unless a list has --dt", run);
  line.option("--math", words(kFloatMathModes, to_string), LENSLET_MEMBER(math), "arithmetic", run);
  line.option("--layout", layout_words(), LENSLET_MEMBER(layouts), "order of input and output in memory",
              run | filter);
  add_execution_options(line, "backend", measured);
  add_table_options(line, measured | compare);
}

// How it is measured.
void OptionTable::add_measuring() {
  line.option("--cache", cache_states(), LENSLET_MEMBER(measure),
              "flush the caches before each run (cold), repeat it (hot), or both", measured);
  line.option("--warmup-ms", milliseconds(), LENSLET_MEMBER(measure.warmup_ms),
              "warm up each candidate this long", measured);
  line.option(
      "--min-time-ms", milliseconds(), LENSLET_MEMBER(measure.min_time_ms),
      "measure each candidate and cache state this long, up to ten times as long or one run if it is slow",
      measured);
  line.option("--max-seconds", Number{0.001, 1e6, "S"}, LENSLET_MEMBER(max_seconds),
              "stop after this time and keep the rows so far; --resume continues [no limit]", measured);
  line.option("--max-noise", Number{0, 10}, LENSLET_MEMBER(measure.max_noise),
              "measure up to four times as long until (p90 - p10) / median is below this value", measured);
  line.option("--verify", words({Verify::kOff, Verify::kBefore, Verify::kBoth}, to_string),
              LENSLET_MEMBER(measure.verify), "check results before timing, or before and after", measured);
  line.option(
      "--dist",
      words({reference::Fill::kRandom, reference::Fill::kNormal, reference::Fill::kIntegers}, dist_name),
      LENSLET_MEMBER(fill), "random data: uniform in [-1, 1), normal, or small integers", measured);
  line.option("--seed", Integer{0, INT32_MAX}, LENSLET_MEMBER(seed), "seed of the data", measured);
  line.flag("--strict", LENSLET_MEMBER(strict),
            "exit with code 1 if a row is SUSPECT (faster than the machine's limits)", measured);
  line.flag("--strict", LENSLET_MEMBER(strict),
            "exit with code 1 if a row is SLOWER or no longer passes, or nothing was compared", compare);
  line.option("--threshold", Number{0, 100, "PCT"}, LENSLET_MEMBER(threshold_percent),
              "differences up to this percentage count as no change", compare);
  line.flag("--capture", LENSLET_MEMBER(measure.capture),
            "bracket the measured part with cudaProfilerStart/Stop, for Nsight", measured);
}

// Where the results go.
void OptionTable::add_results() {
  line.option("--json", Text{"FILE"}, LENSLET_MEMBER(json),
              "results as JSON, written as they arrive; '-' is standard output", measured);
  line.option("--json", Text{"FILE"}, LENSLET_MEMBER(json), "the verdicts as JSON; '-' is standard output",
              compare);
  line.option("--csv", Text{"FILE"}, LENSLET_MEMBER(csv), "results as CSV; '-' is standard output", measured);
  line.option("--report", Text{"FILE.html"}, LENSLET_MEMBER(report),
              "figures and tables as one page; needs --json FILE", measured);
  line.flag("--resume", LENSLET_MEMBER(resume),
            "continue from the rows in the --json file (not for filter, which measures one group)", measured);
}

// Options that exclude or require each other.
void OptionTable::add_rules() {
  line.refuse(
      "run expects something to measure: --problem mb1ic3ih256oc3oh256kh3ph1, or --problems FILE",
      [](const auto& o) { return o.problems.empty() && o.problem_files.empty(); }, run);
  line.refuse(
      "filter expects a picture: --input photo.png", [](const auto& o) { return o.input.empty(); }, filter);
  line.refuse(
      "filter cannot --resume: its backends are one group, timed against each other on one picture; "
      "leave out --resume",
      [](const auto& o) { return o.resume; }, filter);
  line.refuse(
      "gemm expects something to measure: --memory, --partition or both",
      [](const auto& o) { return o.memory.empty() && o.partitions.empty(); }, gemm);
  line.refuse(
      "--report draws from the file that --json names; give --json a file name",
      [](const auto& o) { return !o.report.empty() && (o.json.empty() || is_stream(o.json)); }, measured);
  line.refuse(
      "--resume continues from the file that --json names; give --json a file name",
      [](const auto& o) { return o.resume && (o.json.empty() || is_stream(o.json)); }, measured);
}

}  // namespace

CommandLine convbench_command_line() { return OptionTable().line; }

}  // namespace lenslet
