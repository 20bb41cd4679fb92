// The command lines of both programs, one argument a line, the program first. What is parsed is handed to stand-ins for the
// subcommands, which check the options; help, version, completion and manual are parsed alone.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "apps/convbench/cli.h"
#include "apps/lenslet/cli.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/io/crafted_files.h"

namespace lenslet::fuzz {
namespace {

const std::vector<std::string> kLenslet = {"classify", "eval",     "profile", "tune",
                                           "bench",    "backends", "doctor"};
// Without `compare`, which reads files: the target `results` compares.
const std::vector<std::string> kConvbench = {"run",       "sweep", "ladder",  "filter",   "streams",
                                             "separable", "gemm",  "stencil", "reproduce"};

// As main() gets them: each ends at a zero byte.
std::vector<std::string> lines_of(const uint8_t* data, size_t size) {
  constexpr size_t kMost = 64;
  std::vector<std::string> lines;
  const std::string text = text_of(data, size);
  for (size_t at = 0; at < text.size() && lines.size() < kMost;) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at).c_str());
    at = end + 1;
  }
  return lines;
}

bool prints(const std::string& argument) {
  return argument.rfind("-h", 0) == 0 || argument.rfind("--h", 0) == 0 || argument.rfind("--v", 0) == 0;
}

}  // namespace
}  // namespace lenslet::fuzz

using namespace lenslet;

LENSLET_FUZZ_TARGET(arguments) {
  const std::vector<std::string> lines = lines_of(data, size);
  if (lines.empty()) return;
  const bool convbench = lines[0] == "convbench";
  std::vector<const char*> arguments;
  for (const std::string& line : lines) arguments.push_back(line.c_str());
  const auto count = static_cast<int>(arguments.size());
  std::function<ExitCode()> command;
  const bool accepted = accepts("", [&] {
    command = convbench ? parse_convbench_line(count, arguments.data())
                        : parse_command_line(count, arguments.data());
  });
  if (!accepted) return;
  require(command != nullptr, "what was parsed can be run");
  const std::vector<std::string>& commands = convbench ? kConvbench : kLenslet;
  const bool stands_in = count > 1 && std::find(commands.begin(), commands.end(), lines[1]) != commands.end();
  if (stands_in && std::none_of(lines.begin(), lines.end(), prints))
    require(command() == ExitCode::kOk, "a stand-in accepts what was parsed");
}

LENSLET_FUZZ_SEEDS(arguments) {
  std::vector<Bytes> seeds;
  for (const char* text :
       {"lenslet\nclassify\na.png\n-\n--explain\n--limit\n10\n--max-image-pixels\n1000",
        "lenslet\nclassify\n--index=3\n--json\n-\nx",
        "lenslet\neval\n--data\nfolder\n--split\ntrain\n--min-accuracy\n0.99\n--backend-matrix\n--misses\nm."
        "csv",
        "lenslet\neval\n--streams\n3\n--repeat\n20\n--plan\nfused\n--input\nuint8\n--graph\non",
        "lenslet\nprofile\n--cache\nhot\n--warmup-ms\n1.5\n--min-time-ms\n0\n--trace\nt.json\n--strict\n--"
        "capture",
        "lenslet\ntune\n--plan\nlayered\n--seed\n7\n--save-plan\np.json\n--math\ntf32",
        "lenslet\nbench\n--batch-sizes\n1:1048576:x4\n--plan\nlayered,fused\n--math\nfp32,fp16\n--latency\n--"
        "calls\n100",
        "lenslet\nbench\n--batch-sizes\n1,2,3\n--input\nfp32,uint8\n--output\nlogits,prediction\n--"
        "backend\nall",
        "lenslet\nbackends\n--problem\nmb1ic1ih28oc6kh5\n--problem\nic1ih5oc1kh3",
        "lenslet\ndoctor\n--device\ncuda:99999999999999999999",
        "lenslet\ndoctor\n--threads\n99999999999999999999\n--workspace-limit\n64M",
        "lenslet\neval\n--workspace-limit\n99999999999T",
        "lenslet\n--help",
        "lenslet\n--version",
        "lenslet\nclasify\nx",
        "lenslet\neval\n--backnd\ndirect",
        "lenslet\neval\n--",
        "lenslet\nclassify\n--\n--limit",
        "lenslet\neval\n-h\n",
        "convbench\nrun\n--problem\nmb1ic3ih256oc3kh3ph1\n--problems\nlist.txt\n--backend\ndirect,cudnn\n--"
        "layout\nboth",
        "convbench\nrun\n--math\ntf32\n--device\ncpu\n--threads\n2\n--verify\nbefore\n--dist\nints\n--max-"
        "noise\n0.5",
        "convbench\nsweep\n--sizes\n256:4096:x2\n--strides\n1,2,3\n--out-channels\n1,3\n--cache\ncold",
        "convbench\nladder\nimplicit_gemm\ndirect",
        "convbench\nfilter\n--input\na.png\n--output\nb.png\n--filter\nblur\n--stride\n2\n--max-image-"
        "pixels\n100",
        "convbench\nstreams\n--problem\nx\n--chunks\n16\n--streams\n1,2,4\n--trace\nt.json",
        "convbench\nseparable\n--channels\n32\n--batch-size\n8",
        "convbench\ngemm\n--memory\nglobal,shared\n--tiles\n8,16\n--partition\nnone\n--blocks\n64",
        "convbench\nstencil\n--dimensions\n1,2\n--length\n1000\n--taps\n7\n--radius\n0\n--boundary\nzero,"
        "clamp\n--filter\ntiled",
        "convbench\nreproduce\na\nb\n--resume\n--json\nr.json\n--report\nr.html",
        "convbench\ncompare\nold.json\nnew.json\n--threshold\n3\n--strict",
        "convbench\nsweep\n--sizes\n1:65536:x65536",
        "convbench\nsweep\n--sizes\n0x10",
        "convbench\nrun\n--seed\n-1",
        "convbench\n--help",
        "convbench\ngem",
        "convbench\nrun\n--min-time-ms\n1e9"})
    seeds.push_back(test::bytes_of(text));
  return seeds;
}
