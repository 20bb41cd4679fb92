// The command lines of both programs, one argument per line, the program first. They are parsed, not run. Every
// accepted value is legal for the option table and survives a round trip.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "apps/convbench/cli.h"
#include "apps/lenslet/cli.h"
#include "framework/device/device.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"

namespace lenslet::fuzz {
namespace {

// As for main(): each ends with a zero byte.
std::vector<std::string> lines_of(const uint8_t* data, size_t size) {
  constexpr size_t kMaxLines = 64;
  std::vector<std::string> lines;
  const std::string text = text_of(data, size);
  for (size_t at = 0; at < text.size() && lines.size() < kMaxLines;) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at).c_str());
    at = end + 1;
  }
  return lines;
}

void check_option(const Option& option) {
  if (!option.value || option.repeated) return;
  const std::string& name = option.names.front();
  const std::string text = option.value->show();
  if (text.empty()) return;  // not given
  check(option.value->legal(), name + " has a legal value");
  option.value->read(name, text);
  check(option.value->show() == text, name + " reads its value again");
  if (name == "--device") accepts("", [&] { choose_device(text); });
}

// For each command its options with their defaults, or with the first legal word or number, six at a time.
void add_seeds(const CommandLine& line, std::vector<Bytes>& seeds) {
  constexpr size_t kOptions = 6;
  for (const Command& command : line.program().commands) {
    const std::string begin = line.program().name + "\n" + command.name;
    std::string text = begin;
    for (size_t i = 0; i < command.options.size(); ++i) {
      const Option& option = command.options[i];
      if (i > 0) text += "\n" + option.names.back();  // the first is --help
      const ValueChoices choices = value_choices(option);
      std::string value = option.value ? option.value->show() : "";
      if (value.empty()) value = choices.words.empty() ? "1" : choices.words.front();
      if (option.value) text += "\n" + value;
      if (i % kOptions != kOptions - 1 && i + 1 < command.options.size()) continue;
      for (const Option& argument : command.arguments) {
        const std::vector<std::string> words = value_choices(argument).words;
        text += words.empty() ? "\na.json\nb.json" : "\n" + words.front();
      }
      seeds.push_back(test::bytes_of(text));
      text = begin;
    }
  }
}

}  // namespace
}  // namespace lenslet::fuzz

using namespace lenslet;

LENSLET_FUZZ_TARGET(arguments) {
  const std::vector<std::string> lines = lines_of(data, size);
  if (lines.empty()) return;
  std::vector<const char*> arguments;
  for (const std::string& line : lines) arguments.push_back(line.c_str());
  CommandLine line = lines[0] == "convbench" ? convbench_command_line() : lenslet_command_line();
  std::function<ExitCode()> command;
  if (!accepts("", [&] { command = line.parse(static_cast<int>(arguments.size()), arguments.data()); }))
    return;
  check(command != nullptr, "what was parsed can be run");
  for (const Command& one : line.program().commands) {
    if (lines.size() < 2 || one.name != lines[1]) continue;
    for (const Option& option : one.options) check_option(option);
  }
}

LENSLET_FUZZ_SEEDS(arguments) {
  std::vector<Bytes> seeds;
  add_seeds(lenslet_command_line(), seeds);
  add_seeds(convbench_command_line(), seeds);
  for (const char* text :
       {"lenslet\nclassify\n--index=3\n--json\n-\nx",
        "lenslet\nclassify\na.png\n-\n--explain\n--limit\n10",
        "lenslet\nbench\n--batch-sizes\n1:1048576:x4\n--plan\nlayered,fused\n--math\nfp32,fp16",
        "lenslet\nbackends\n--problem\nmb1ic1ih28oc6kh5\n--problem\nic1ih5oc1kh3",
        "lenslet\ndoctor\n--device\ncuda:99999999999999999999\n--threads\n99999999999999999999",
        "lenslet\neval\n--workspace-limit\n17179869183G\n--min-accuracy\n0.5",
        "lenslet\n--help",
        "lenslet\n--version",
        "lenslet\nclasify\nx",
        "lenslet\neval\n--backnd\ndirect",
        "lenslet\neval\n--",
        "lenslet\nclassify\n--\n--limit",
        "lenslet\neval\n-h\n",
        "convbench\nsweep\n--sizes\n1:65536:x65536",
        "convbench\nsweep\n--sizes\n0x10",
        "convbench\nrun\n--seed\n-1",
        "convbench\nrun\n--seed\n2147483648",
        "convbench\nrun\n--min-time-ms\n1e9",
        "convbench\nrun\n--max-noise\nnan",
        "convbench\ncompletion\nzsh",
        "convbench\nman",
        "convbench\ngem"})
    seeds.push_back(test::bytes_of(text));
  return seeds;
}
