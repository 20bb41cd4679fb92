#include "apps/convbench/cli.h"

#include <limits>
#include <memory>

#include "apps/common/command_line.h"
#include "apps/common/image_options.h"
#include "apps/common/option_values.h"
#include "apps/convbench/cli_options.h"
#include "apps/convbench/commands.h"
#include "apps/convbench/compare.h"
#include "apps/convbench/gemm_study/gemm_study.h"
#include "apps/convbench/stencil/stencil_study.h"
#include "framework/io/image.h"
#include "layers/conv/gpu/ladder/conv_ladder.h"

namespace lenslet {
namespace {

void add_run(Command command, RunOptions& options) {
  command.repeated("--problem", "STR",
                   "a convolution, such as mb1ic3ih256oc3oh256kh3ph1; may be given repeatedly",
                   [&options](const std::string& text) { options.problems.push_back(text); });
  command.repeated("--problems", "FILE", "a list of them, one a line; may be given repeatedly",
                   [&options](const std::string& text) { options.problem_files.push_back(text); });
  add_backends(command, options.backends);
  command.option("--math", "fp32|tf32|fp16", "arithmetic [fp32]",
                 [&options](const std::string& text) { options.math = parse_math_mode(text); });
  add_layouts(command, options.layouts);
  add_measuring(command, options);
  command.footer(
      "Examples:\n"
      "  convbench run --problem mb8ic64ih128oc128oh126kh3 --backend implicit_gemm,winograd,cudnn\n"
      "  convbench run --problems layers/conv/problems/deep3x3.txt --math tf32 --layout both --json "
      "deep.json\n"
      "  convbench run --problem mb1ic3ih512oc3kh3ph1 --device cpu");
}

void add_sweep(Command command, SweepOptions& options) {
  add_sizes(command, "--sizes", options.sizes);
  add_integers(command, "--strides", options.strides, 1, 16, "strides [1,2,3]");
  add_integers(command, "--out-channels", options.out_channels, 1, 1024, "output channels K [1,3]");
  add_backends(command, options.backends);
  add_measuring(command, options);
  command.footer(
      "One image, C=3, 3x3, padding 1. Kernel time and time with the copies from and to the host are columns "
      "of their "
      "own.\n"
      "Examples:\n"
      "  convbench sweep --json sweep.json --report sweep.html\n"
      "  convbench sweep --sizes 256:1024:x2 --strides 1 --out-channels 3 --backend "
      "direct,im2col_gemm,cudnn\n"
      "  convbench sweep --device cpu --sizes 256,512");
}

void add_ladder(Command command, LadderOptions& options) {
  command.arguments("algorithm", "NAME", options.algorithms, "implicit_gemm, direct; none: all of them");
  command.suggest("algorithm", [] { return Suggestions{conv_ladder_algorithms(), {}}; });
  command.repeated("--problem", "STR", "instead of the shapes of the study; may be given repeatedly",
                   [&options](const std::string& text) { options.problems.push_back(text); });
  command.repeated("--problems", "FILE", "a list of them, one a line",
                   [&options](const std::string& text) { options.problem_files.push_back(text); });
  add_measuring(command, options);
  command.footer(
      "Examples:\n"
      "  convbench ladder implicit_gemm --json ladder.json\n"
      "  convbench ladder direct --problem mb1ic3ih1024oc3kh3ph1");
}

void add_filter(Command command, FilterOptions& options) {
  command.text("--input", "FILE", options.input,
               concat("the picture: ", image_formats(), "; '-' is standard input"));
  command.text("--output", "FILE.png", options.output, "where the filtered picture goes [nowhere]");
  add_image_limits(command, options.image_limits);
  command.text("--filter", "edge|blur|sharpen|FILE", options.filter,
               "by name, or a file with rows of numbers and maybe 'scale 1/16' [edge]");
  command.integer("--stride", 1, 1024, options.stride, "pixels from one output to the next [1]");
  add_backends(command, options.backends);
  add_layouts(command, options.layouts);
  add_measuring(command, options);
  command.footer(
      "Three colours in, three out, each filtered by itself, zeros around the picture. A sum becomes a byte "
      "by\n"
      "floor(scale * sum + 1/2), held within 0 and 255. Every backend must give the same bytes.\n"
      "Examples:\n"
      "  convbench filter --input photo.jpg --output edges.png\n"
      "  convbench filter --input photo.jpg --output small.png --filter blur --stride 2 --backend "
      "direct,cudnn\n"
      "  convbench filter --input photo.jpg --filter emboss.txt --device cpu");
}

void add_streams(Command command, StreamsOptions& options) {
  command.text("--problem", "STR", options.problem,
               concat("a convolution with the whole batch [", options.problem, "]"));
  command.text("--backend", "NAME", options.backend, concat("a backend of the GPU [", options.backend, "]"));
  command.suggest("--backend", [] { return Suggestions{conv_backend_names({DeviceKind::kCuda}), {}}; });
  command.integer("--chunks", 1, 4096, options.chunks, concat("parts of the batch [", options.chunks, "]"));
  add_integers(command, "--streams", options.streams, 1, 64, "how many streams share the parts [1,2,4]");
  command.text("--trace", "FILE", options.trace, "timeline of every stream, for ui.perfetto.dev");
  add_measuring(command, options);
  command.footer(
      "Each part is copied in from page-locked memory, convolved and copied out, all on one stream; parts "
      "take the\n"
      "streams in turn. One stream adds the three up, more can overlap them.\n"
      "Examples:\n"
      "  convbench streams --trace timeline.json\n"
      "  convbench streams --problem mb64ic3ih512oc3kh3ph1 --backend direct --chunks 16 --streams 1,2,3");
}

void add_separable(Command command, SeparableOptions& options) {
  add_integers(command, "--channels", options.channels, 1, 4096, "channels in and out [32,128,512]");
  add_sizes(command, "--sizes", options.sizes);
  command.integer("--batch-size", 1, 4096, options.batch, "images [8]");
  add_backends(command, options.backends);
  add_measuring(command, options);
  command.footer(
      "A standard 3x3 convolution against a 3x3 for each channel by itself and a 1x1 that mixes the "
      "channels, each\n"
      "with its fastest backend and with the vendor's library alone. fp32, without bias and activation.\n"
      "Examples:\n"
      "  convbench separable --json separable.json\n"
      "  convbench separable --channels 64 --sizes 56,112 --batch-size 32");
}

/// Names with commas between them, or "none"; completion offers `words`.
void add_names(Command& command, const std::string& name, const std::string& value,
               const std::vector<std::string>& words, std::vector<std::string>& target,
               const std::string& help) {
  command.option(name, value, help, [&target, name](const std::string& text) {
    target = text == "none" ? std::vector<std::string>() : split_list(name, text);
  });
  command.suggest(name, [words] { return Suggestions{words, {}}; });
}

void add_gemm(Command command, GemmStudyOptions& options) {
  add_sizes(command, "--sizes", options.sizes);
  add_names(command, "--memory", "LIST|none", gemm_memory_modes(), options.memory,
            "where operands come from: global, shared, register [all]");
  command.integer("--out-channels", 1, 1024, options.out_channels, "filters K [3]");
  add_integers(command, "--tiles", options.tiles, 1, 1024, "threads along an edge of a tile [8,16,32]");
  add_names(command, "--partition", "LIST|none", gemm_partitions(), options.partitions,
            "what a thread computes: row, column, element [all]");
  add_integers(command, "--blocks", options.blocks, 1, 1024, "threads along an edge of a block [16,32,64]");
  add_measuring(command, options);
  command.footer(
      "im2col's matrix product for one RGB image, 3x3: filters [K, 27] times columns [27, size * size],\n"
      "fp32, by the kernels of a course's laboratory, all of them right, beside the vendor's library.\n"
      "What the card cannot launch is UNSUPPORTED, with the reason from the card's own limits. Needs a GPU.\n"
      "Examples:\n"
      "  convbench gemm --json gemm.json\n"
      "  convbench gemm --sizes 1024 --memory register --tiles 8,16 --partition none");
}

void add_stencil(Command command, StencilOptions& options) {
  add_integers(command, "--dimensions", options.dimensions, 1, 2, "1, 2 or both [1,2]");
  command.integer("--length", 1, 1 << 30, options.length, "elements of the signal [16777216]");
  command.integer("--taps", 1, 4095, options.taps, "of the signal's filter [7]");
  command.integer("--height", 1, 1 << 16, options.height, "rows of the image [4096]");
  command.integer("--width", 1, 1 << 16, options.width, "columns of the image [4096]");
  command.integer("--radius", 0, 31, options.radius,
                  "of the image's filter, 2 * radius + 1 along an edge [2]");
  add_names(command, "--filter", "LIST", stencil_filters(), options.filters,
            "filter in global or constant memory, input tiled in shared memory, or several outputs a thread: "
            "global, "
            "constant, tiled, vector [all]");
  add_names(command, "--boundary", "LIST", stencil_boundaries(), options.boundaries,
            "what is beyond the edges: zero, clamp, reflect [all]");
  add_measuring(command, options);
  command.footer(
      "Effective bandwidth counts input and output once; the ceiling is copying. Needs a GPU.\n"
      "Examples:\n"
      "  convbench stencil --json stencil.json\n"
      "  convbench stencil --dimensions 1 --length 1000003 --taps 15 --boundary reflect");
}

void add_reproduce(Command command, ReproduceOptions& options) {
  command.arguments("study", "a|b|c|d|e|all", options.studies, "which of the published studies");
  add_measuring(command, options);
  command.footer(
      "Prints what each study printed, on its card, beside what this card does now.\n"
      "Examples:\n"
      "  convbench reproduce all --json all.json --csv all.csv --report all.html\n"
      "  convbench reproduce b");
}

void add_compare(Command command, CompareOptions& options) {
  command.arguments("files", "OLD.json NEW.json", options.files, "two result files");
  command.option("--threshold", "PCT", "percent of difference that is no change [3]",
                 [&options](const std::string& text) {
                   options.threshold_percent = parse_number("--threshold", text, 0, 100);
                 });
  command.flag("--strict", options.strict,
               "exit with 1 where a row is SLOWER or broke, or nothing was compared");
  command.text("--json", "FILE", options.json, "the verdicts as JSON; '-' is standard output");
  command.footer("Example:\n  convbench compare old.json new.json --strict");
}

}  // namespace

std::function<ExitCode()> parse_convbench_line(int argc, const char* const* argv) {
  CommandLine line("convbench", "Measures convolutions: any problem, any backend, and the published studies",
                   "convbench run --problem mb1ic3ih256oc3kh3ph1");
  line.environment("LENSLET_NUM_THREADS", "CPU threads, where --threads is not given");
  line.environment("LENSLET_MODULE_PATH", "folder of the modules for cuBLAS, cuDNN and oneDNN");
  line.environment("LENSLET_REPORT_SCRIPT",
                   "script that draws --report [share/lenslet/report beside the program]");
  line.environment("LENSLET_PYTHON", "the Python that runs it [python3]");
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
    RunOptions run;
    SweepOptions sweep;
    LadderOptions ladder;
    FilterOptions filter;
    StreamsOptions streams;
    SeparableOptions separable;
    GemmStudyOptions gemm;
    StencilOptions stencil;
    ReproduceOptions reproduce;
    CompareOptions compare;
  };
  const auto options = std::make_shared<Options>();
  add_run(line.command("run", "Any problems on any backends", [options] { return run_run(options->run); }),
          options->run);
  add_sweep(line.command("sweep", "Sizes x strides x backends for one RGB image",
                         [options] { return run_sweep(options->sweep); }),
            options->sweep);
  add_ladder(line.command("ladder", "How a convolution kernel climbs, rung by rung",
                          [options] { return run_ladder(options->ladder); }),
             options->ladder);
  add_filter(line.command("filter", "A picture through a filter, the same from every backend",
                          [options] { return run_filter(options->filter); }),
             options->filter);
  add_streams(line.command("streams", "Copies and compute on one stream and on several",
                           [options] { return run_streams(options->streams); }),
              options->streams);
  add_separable(line.command("separable", "A depthwise-separable block against the convolution it replaces",
                             [options] { return run_separable(options->separable); }),
                options->separable);
  add_gemm(line.command("gemm", "im2col's matrix product by memory and by partition, beside cuBLAS",
                        [options] { return run_gemm_study(options->gemm); }),
           options->gemm);
  add_stencil(line.command("stencil", "1D and 2D convolution with one filter, against copying",
                           [options] { return run_stencil(options->stencil); }),
              options->stencil);
  add_reproduce(line.command("reproduce", "Published studies, theirs beside ours",
                             [options] { return run_reproduce(options->reproduce); }),
                options->reproduce);
  add_compare(line.command("compare", "Two result files: faster, slower, the same or unclear",
                           [options] { return run_compare(options->compare); }),
              options->compare);
  return line.parse(argc, argv);
}

}  // namespace lenslet
