#include "apps/lenslet/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>

#include "apps/common/environment.h"
#include "apps/common/option_values.h"
#include "apps/common/output.h"
#include "apps/common/text.h"
#include "apps/lenslet/commands.h"
#include "framework/backend_spec.h"

namespace lenslet {
namespace {

constexpr int64_t kMaxBatch = 1 << 20;
constexpr int kMaxThreads = 1024;
constexpr const char* kExpectedCommand =
    "expected a command: classify, eval, profile, backends or doctor; see lenslet --help";
constexpr const char* kExitCodes =
    "Exit codes: 0 ok, 1 a check failed, 2 usage, 3 input, model or data file, 4 device or backend not "
    "available,\n"
    "5 CUDA or library error, 6 out of memory or workspace, 7 output could not be written, 130 interrupted.";

// Options are read as text and parsed by our own strict parsers: CLI11's take 0x10 and 1e3.
using Read = std::function<void(const std::string&)>;

CLI::Option* add(CLI::App& app, const std::string& name, const std::string& placeholder,
                 const std::string& help, Read read) {
  return app.add_option_function<std::string>(name, std::move(read), help)
      ->type_name(placeholder)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

CLI::Option* add_text(CLI::App& app, const std::string& name, const std::string& placeholder,
                      std::string& target, const std::string& help) {
  return add(app, name, placeholder, help, [&target, name](const std::string& text) {
    if (text.empty()) throw UsageError(concat(name, " expects a value, found an empty text"));
    target = text;
  });
}

void add_choice(CLI::App& app, const std::string& name, const std::vector<std::string>& choices,
                const std::string& help, Read read) {
  std::string listed;
  for (const std::string& choice : choices) listed += (listed.empty() ? "" : "|") + choice;
  add(app, name, listed, help, [name, choices, listed, read](const std::string& text) {
    if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
      throw UsageError(concat(name, " expects ", listed, ", found '", printable(text), "'"));
    }
    read(text);
  });
}

void add_execution(CLI::App& app, CommonOptions& options) {
  app.add_option_function<std::string>(
         "--device", [&options](const std::string& text) { options.device = text; },
         "auto takes a usable GPU, else the CPU [auto]")
      ->type_name("auto|cpu|cuda[:N]")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  add(app, "--threads", "N", "CPU threads [all cores, or LENSLET_NUM_THREADS]",
      [&options](const std::string& text) {
        options.threads = static_cast<int>(parse_integer("--threads", text, 1, kMaxThreads));
      });
  add(app, "--workspace-limit", "BYTES", "most workspace a layer may take, such as 64M [no limit]",
      [&options](const std::string& text) {
        options.workspace_limit = parse_bytes("--workspace-limit", text);
      });
  add_text(app, "--json", "FILE", options.json, "result as JSON; '-' is standard output");
  add_text(app, "--csv", "FILE", options.csv, "result as CSV; '-' is standard output");
}

void add_math(CLI::App& app, CommonOptions& options) {
  add(app, "--math", "fp32|tf32|fp16", "arithmetic of convolutions and matrix products [fp32]",
      [&options](const std::string& text) { options.math = parse_math_mode(text); });
}

void add_model(CLI::App& app, CommonOptions& options) {
  add_text(app, "--weights", "FILE", options.weights, "weights as safetensors [built in]");
  add_text(app, "--backend", "SPEC", options.backend,
           "cudnn, or by layer: conv1=direct,conv2=winograd,*=auto [auto]");
  add_math(app, options);
  add_text(app, "--plan", "layered|FILE", options.plan,
           "replay the choices of a saved plan (.json) [layered]");
  add_text(app, "--save-plan", "FILE", options.save_plan, "write the choices made, for --plan");
  add(app, "--batch-size", "N", "images computed together", [&options](const std::string& text) {
    options.batch_size = parse_integer("--batch-size", text, 1, kMaxBatch);
  });
}

void add_graph(CLI::App& app, CommonOptions& options) {
  add_choice(app, "--graph", {"on", "off"}, "replay a captured CUDA graph [off]",
             [&options](const std::string& text) { options.cuda_graph = text == "on"; });
}

// A count option: --limit, --index.
void add_count(CLI::App& app, const std::string& name, int64_t min, std::optional<int64_t>& target,
               const std::string& help) {
  add(app, name, "N", help, [&target, name, min](const std::string& text) {
    target = parse_integer(name, text, min, std::numeric_limits<int64_t>::max());
  });
}

void add_classify(CLI::App& app, ClassifyOptions& options) {
  app.add_option(
         "inputs", options.inputs,
         "pictures (PNG, JPEG, BMP, PGM, PPM), IDX files, folders of pictures, or '-' for one picture from "
         "standard input")
      ->type_name("FILE|DIR|-");
  app.add_flag("--explain", options.explain, "show each step from the picture to the model's input");
  add_count(app, "--limit", 1, options.limit, "classify at most N images of each IDX file");
  add_count(app, "--index", 0, options.index, "classify only image N of each IDX file");
  add_model(app, options);
  add_execution(app, options);
  app.footer(
      "Examples:\n"
      "  lenslet classify samples/digit_3_a.png --explain\n"
      "  lenslet classify photos/ --json answers.json\n"
      "  lenslet classify t10k-images-idx3-ubyte.gz --limit 10 --device cpu\n"
      "A picture that cannot be read does not stop the others; the exit code is then 3.");
}

void add_eval(CLI::App& app, EvalOptions& options) {
  add_text(app, "--data", "DIR", options.data,
           "folder with MNIST's IDX files [LENSLET_MNIST_DIR, then ./data]");
  add_choice(app, "--split", {"t10k", "train"}, "which images [t10k]",
             [&options](const std::string& text) { options.split = text; });
  add_count(app, "--limit", 1, options.limit, "evaluate only the first N images");
  add(app, "--min-accuracy", "X", "exit with 1 below this fraction, such as 0.99",
      [&options](const std::string& text) {
        options.min_accuracy = parse_number("--min-accuracy", text, 0, 1);
      });
  app.add_flag("--backend-matrix", options.backend_matrix,
               "run every legal combination of backends, but for layers that --backend names, and compare "
               "their answers");
  add_text(app, "--misses", "FILE", options.misses,
           "list of misclassified images as CSV; '-' is standard output");
  add_text(app, "--contact-sheet", "FILE", options.contact_sheet,
           "picture of the misclassified images (.png or .pgm)");
  add_text(app, "--logits", "FILE", options.logits,
           "the logits as .npy, .safetensors or raw fp32 (any other ending)");
  add_model(app, options);
  add_graph(app, options);
  add_execution(app, options);
  app.footer(
      "Examples:\n"
      "  lenslet eval --data mnist --device cpu\n"
      "  lenslet eval --backend conv1=direct,conv2=winograd --min-accuracy 0.99\n"
      "  lenslet eval --backend-matrix --backend fc1=direct,fc2=direct,fc3=direct --json matrix.json");
}

void add_profile(CLI::App& app, ProfileCommandOptions& options) {
  add_choice(app, "--cache", {"cold", "hot", "both"},
             "time layers with flushed caches, inside a whole pass, or both [both]",
             [&options](const std::string& text) { options.cache = text; });
  constexpr double kHourMs = 3.6e6;
  add(app, "--warmup-ms", "MS", "warm up that long before measuring [50]",
      [&options](const std::string& text) {
        options.warmup_ms = parse_number("--warmup-ms", text, 0, kHourMs);
      });
  add(app, "--min-time-ms", "MS", "measure each quantity that long, 5,000 passes at most [200]",
      [&options](const std::string& text) {
        options.min_time_ms = parse_number("--min-time-ms", text, 0, kHourMs);
      });
  add_text(app, "--trace", "FILE", options.trace,
           "Chrome trace of one pass, for Perfetto; '-' is standard output");
  app.add_flag("--capture", options.capture,
               "bracket the measured part with cudaProfilerStart/Stop, for Nsight");
  app.add_flag("--strict", options.strict,
               "exit with 1 where a row is SUSPECT: faster than the machine can be");
  add(app, "--seed", "N", "seed of the random images [1]", [&options](const std::string& text) {
    options.seed =
        static_cast<uint64_t>(parse_integer("--seed", text, 0, std::numeric_limits<int64_t>::max()));
  });
  add_model(app, options);
  add_graph(app, options);
  add_execution(app, options);
  app.footer(
      "Examples:\n"
      "  lenslet profile --batch-size 10000\n"
      "  lenslet profile --device cpu --backend conv2=im2col_gemm --cache hot\n"
      "  lenslet profile --trace pass.json --json profile.json");
}

void add_backends(CLI::App& app, BackendsOptions& options) {
  app.add_option("--problem", options.problems,
                 "a convolution instead of the model's layers; may be given repeatedly")
      ->type_name("STR")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  add_text(app, "--weights", "FILE", options.weights, "weights as safetensors [built in]");
  add_math(app, options);
  add(app, "--batch-size", "N", "batch of the model's layers [1]", [&options](const std::string& text) {
    options.batch_size = parse_integer("--batch-size", text, 1, kMaxBatch);
  });
  add_execution(app, options);
  app.footer(
      "Examples:\n"
      "  lenslet backends\n"
      "  lenslet backends --device cpu --batch-size 64\n"
      "  lenslet backends --problem mb1ic3ih256oc3oh256kh3ph1");
}

void add_doctor(CLI::App& app, DoctorOptions& options) {
  add_execution(app, options);
  add(app, "--seed", "N", "seed of the self-test's data [1]", [&options](const std::string& text) {
    options.seed =
        static_cast<uint64_t>(parse_integer("--seed", text, 0, std::numeric_limits<int64_t>::max()));
  });
  app.footer(
      "Examples:\n"
      "  lenslet doctor\n"
      "  lenslet doctor --device cpu --json doctor.json\n"
      "Without a GPU the GPU backends are SKIPPED, which is no failure; a FAILED backend gives exit code 1.");
}

std::string nearest_hint(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string nearest = nearest_match(word, candidates);
  return nearest.empty() ? std::string() : concat("; did you mean ", nearest, "?");
}

std::vector<std::string> flag_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// "--limit: 1 required TEXT missing" and the like; long ones are cut, an argument may have any length.
std::string one_line(std::string text) {
  constexpr size_t kLongest = 300;
  text = printable(text);
  return text.size() > kLongest ? text.substr(0, kLongest) + "..." : text;
}

// What CLI11 could not place. Only the flag's name matters for the nearest match, not its value.
[[noreturn]] void throw_unexpected(const CLI::App& app, const CLI::App& subcommand) {
  const std::vector<std::string> extras = app.remaining(true);
  std::string word = extras.empty() ? std::string() : extras.front();
  for (const std::string& extra : extras) {
    if (extra.size() > 1 && extra[0] == '-') {
      word = extra;
      break;
    }
  }
  if (word.size() < 2 || word[0] != '-') {
    throw UsageError(concat(subcommand.get_name(), " does not take the argument '", one_line(word), "'"));
  }
  word = word.substr(0, word.find('='));
  throw UsageError(concat(subcommand.get_name(), " has no option ", one_line(word),
                          nearest_hint(word, flag_names(subcommand)), " See lenslet ", subcommand.get_name(),
                          " --help"));
}

}  // namespace

std::function<ExitCode()> parse_command_line(int argc, const char* const* argv) {
  CLI::App app("LeNet-5 inference with interchangeable convolution backends", "lenslet");
  app.set_version_flag("--version", version_line("lenslet"));
  app.footer(
      concat("Every command has --help with examples, such as: lenslet classify samples/digit_3_a.png\n\n",
             kExitCodes));
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);

  // Shared with the function returned, which outlives this call.
  struct Options {
    ClassifyOptions classify;
    EvalOptions eval;
    ProfileCommandOptions profile;
    BackendsOptions backends;
    DoctorOptions doctor;
  };
  const auto options = std::make_shared<Options>();
  std::vector<std::pair<CLI::App*, std::function<ExitCode()>>> commands;
  const auto command = [&](const char* name, const char* help, std::function<ExitCode()> run) -> CLI::App& {
    CLI::App* const sub = app.add_subcommand(name, help);
    commands.emplace_back(sub, std::move(run));
    return *sub;
  };
  add_classify(command("classify", "Read the digit in pictures",
                       [options] { return run_classify(options->classify); }),
               options->classify);
  add_eval(command("eval", "Count correct digits of MNIST", [options] { return run_eval(options->eval); }),
           options->eval);
  add_profile(command("profile", "Time every layer", [options] { return run_profile(options->profile); }),
              options->profile);
  add_backends(command("backends", "Show which backend can serve which layer",
                       [options] { return run_backends(options->backends); }),
               options->backends);
  add_doctor(command("doctor", "Check driver, libraries and every backend",
                     [options] { return run_doctor(options->doctor); }),
             options->doctor);

  std::vector<std::string> names;
  for (const auto& [sub, run] : commands) names.push_back(sub->get_name());
  const std::string first = argc > 1 ? argv[1] : "";
  if (first.empty()) throw UsageError(kExpectedCommand);
  if (first[0] != '-' && std::find(names.begin(), names.end(), first) == names.end()) {
    throw UsageError(concat("there is no command '", one_line(first), "'", nearest_hint(first, names),
                            " See lenslet --help"));
  }
  if (first[0] == '-' && first != "--help" && first != "-h" && first != "--version") {
    throw UsageError(concat("there is no option ", one_line(first), " before the command",
                            nearest_hint(first.substr(0, first.find('=')), {"--help", "--version"}),
                            "; options follow the command: lenslet eval --device cpu"));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help or --version
    std::string text;
    if (dynamic_cast<const CLI::CallForVersion*>(&asked) != nullptr) {
      text = version_line("lenslet") + "\n";
    } else {
      const CLI::App* about = &app;
      for (const auto& [sub, run] : commands) {
        if (sub->parsed()) about = sub;
      }
      text = about == &app ? app.help() : about->help("lenslet");
    }
    return [text] {
      write_standard_output(text);
      return ExitCode::kOk;
    };
  } catch (const CLI::ParseError& error) {
    for (const auto& [sub, run] : commands) {
      if (!sub->parsed()) continue;
      if (!app.remaining(true).empty()) throw_unexpected(app, *sub);
      throw UsageError(concat(sub->get_name(), ": ", one_line(error.what()), "; see lenslet ",
                              sub->get_name(), " --help"));
    }
    throw UsageError(concat(one_line(error.what()), "; see lenslet --help"));
  }
  for (const auto& [sub, run] : commands) {
    if (sub->parsed()) return run;
  }
  throw UsageError(kExpectedCommand);
}

}  // namespace lenslet
