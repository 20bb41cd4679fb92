#include "apps/convbench/cli.h"

#include <limits>
#include <memory>

#include "apps/common/command_line.h"
#include "apps/common/option_values.h"
#include "apps/convbench/cli_options.h"
#include "apps/convbench/commands.h"
#include "apps/convbench/compare.h"

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

void add_compare(Command command, CompareOptions& options) {
  command.arguments("files", "OLD.json NEW.json", options.files, "two result files");
  command.option("--threshold", "PCT", "percent of difference that is no change [3]",
                 [&options](const std::string& text) {
                   options.threshold_percent = parse_number("--threshold", text, 0, 100);
                 });
  command.flag("--strict", options.strict, "exit with 1 where a row is SLOWER or broke");
  command.text("--json", "FILE", options.json, "the verdicts as JSON; '-' is standard output");
  command.footer("Example:\n  convbench compare old.json new.json --strict");
}

}  // namespace

std::function<ExitCode()> parse_convbench_line(int argc, const char* const* argv) {
  CommandLine line("convbench", "Measures convolutions: any problem, any backend, and the published studies",
                   "convbench run --problem mb1ic3ih256oc3kh3ph1");
  // Shared with the function returned, which outlives this call.
  struct Options {
    RunOptions run;
    SweepOptions sweep;
    LadderOptions ladder;
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
  add_compare(line.command("compare", "Two result files: faster, slower, the same or unclear",
                           [options] { return run_compare(options->compare); }),
              options->compare);
  return line.parse(argc, argv);
}

}  // namespace lenslet
