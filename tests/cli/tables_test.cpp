// Tables fit the width that COLUMNS states; `explain` of both programs explains their words.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "framework/base/error.h"
#include "tests/cli/fixtures/files.h"
#include "tests/models/onnx/onnx_writer.h"

namespace lenslet::test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kShort = " --device cpu --warmup-ms 0 --min-time-ms 1";

struct TableCommand {
  const char* name;
  std::string line;
};

// A name that exceeds a line.
std::string long_name(const std::string& end) {
  return "features.denseblock4.denselayer16.bottleneck.of_the_last_stage_before_the_classifier_of_a_"
         "network." +
         end;
}

// A network whose layers have such names.
constexpr const char* kLongModel = "{dir}/out/long.onnx";
void write_long_model() {
  onnx::GraphParts parts;
  parts.inputs = {onnx::value("x", {-1, 3, 8, 8})};
  parts.initializers = {onnx::floats("v", {3, 3, 3, 3}, std::vector<float>(81, 0.1f)),
                        onnx::floats("w", {10, 192}, std::vector<float>(1920, 0.1f))};
  const onnx::Message pads = onnx::attribute("pads", {1, 1, 1, 1});
  parts.nodes = {onnx::node("Conv", {"x", "v"}, long_name("conv1"), {pads}),
                 onnx::node("Relu", {long_name("conv1")}, long_name("relu1")),
                 onnx::node("Conv", {long_name("relu1"), "v"}, long_name("conv2"), {pads}),
                 onnx::node("Flatten", {long_name("conv2")}, "f"),
                 onnx::node("Gemm", {"f", "w"}, "y", {onnx::attribute("transB", 1)})};
  parts.outputs = {onnx::value("y", {-1, 10})};
  std::ofstream(expand(kLongModel), std::ios::binary) << onnx::model_of(parts, 13).bytes();
}

// With a file of this name convbench measures only once: afterwards it prints the rows of the file, at any width.
std::string kept(const std::string& name) { return " --json {dir}/out/" + name + ".json --resume"; }

// Every command that prints a table on the CPU.
std::vector<TableCommand> prepare_commands() {
  const std::string problem = "convbench run --problem mb1ic3ih12oc3kh3ph1",
                    both = problem + " --layout both", called = "n\"" + long_name("one") + "\"",
                    longer = problem + called + " --problem mb1ic3ih9oc3kh3" + called + kShort,
                    model = std::string(" --model ") + kLongModel;
  run_line(problem + kShort + " --json {dir}/out/old.json");
  run_line(problem + kShort + " --json {dir}/out/new.json");
  run_line(longer + " --json {dir}/out/long_old.json");
  run_line(longer + " --json {dir}/out/long_new.json");
  write_long_model();
  return {{"backends", "lenslet backends --device cpu --verbose"},
          {"doctor", "lenslet doctor --device cpu"},
          {"doctor --verbose", "lenslet doctor --device cpu --verbose"},
          {"eval", "{eval} --plan layered"},
          {"matrix", "{eval} --backend-matrix --backend fc1=direct,fc2=direct,fc3=direct --limit 2"},
          {"inspect", "lenslet inspect " LENSLET_SOURCE_DIR "/tests/models/onnx/separable.onnx"},
          {"tune", std::string("lenslet tune") + kShort},
          {"bench", std::string("lenslet bench --batch-sizes 1,2") + kShort},
          {"latency", "lenslet bench --device cpu --latency --batch-sizes 1 --calls 10"},
          {"profile", std::string("lenslet profile") + kShort},
          {"run", both + kShort + kept("run")},
          {"compare", "convbench compare {dir}/out/old.json {dir}/out/new.json"},
          {"sweep",
           std::string("convbench sweep --sizes 8 --strides 1,2 --out-channels 3") + kShort + kept("sweep")},
          {"separable", std::string("convbench separable --channels 4 --sizes 8 --batch-size 1") + kShort +
                            kept("separable")},
          {"filter", "{filter} --filter edge --warmup-ms 0 --min-time-ms 1"},
          {"eval, classes", "{eval_of}/by_class --model {source}/tests/models/onnx/lenet5.onnx"},
          {"explain", "lenslet explain memory"},
          {"explain, all", "convbench explain"},
          {"backends, long", "lenslet backends --device cpu" + model},
          {"doctor, long", "lenslet doctor --device cpu --verbose" + model},
          {"inspect, long", std::string("lenslet inspect ") + kLongModel},
          {"tune, long", "lenslet tune" + model + kShort},
          {"bench, long", "lenslet bench --batch-sizes 1,2" + model + kShort},
          {"profile, long", "lenslet profile" + model + kShort},
          {"run, long", longer + kept("long_run")},
          {"compare, long", "convbench compare {dir}/out/long_old.json {dir}/out/long_new.json"}};
}
const std::vector<TableCommand>& table_commands() {
  static const std::vector<TableCommand> commands = prepare_commands();
  return commands;
}

ProgramRun run_in(const std::string& line, const std::string& columns,
                  const std::map<std::string, std::string>& environment = {}) {
  ProgramOptions options;
  options.environment = environment;
  options.environment["COLUMNS"] = columns;
  return run_line(line, options);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// Characters: bytes that do not continue a UTF-8 sequence.
long width_of(const std::string& line) {
  return std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
}

bool is_rule(const std::string& line) {
  return line.size() > 3 && line.find_first_not_of('-') == std::string::npos;
}

TEST(Tables, FitTheWidth) {
  for (const TableCommand& command : table_commands()) {
    // At both widths, except those that take their time to measure; run has the widest of their tables.
    static const std::set<std::string> kMeasure = {"tune",        "bench",         "latency",  "profile",
                                                   "sweep",       "separable",     "filter",   "tune, long",
                                                   "bench, long", "profile, long", "run, long"};
    const bool measures = kMeasure.count(command.name) != 0;
    for (const int width : measures ? std::vector<int>{80} : std::vector<int>{100, 80}) {
      const ProgramRun run = run_in(command.line, std::to_string(width));
      EXPECT_EQ(run.exit_code, kOk) << command.name << ": " << run.err;
      for (const std::string& line : lines_of(run.out)) {
        EXPECT_LE(width_of(line), width) << command.name << ", COLUMNS=" << width << "\n" << run.out;
        EXPECT_EQ(line.find('\x1b'), std::string::npos) << "colour off a terminal: " << command.name;
      }
    }
  }
}

// What identifies a row stands in front of each block of columns, unless it is the same in every row.
TEST(Tables, EveryBlockRepeatsTheKeys) {
  const std::map<std::string, std::vector<std::string>> keys = {
      {"backends", {"layer", "backend"}}, {"doctor --verbose", {"backend", "math"}},
      {"matrix", {"backends", "math"}},   {"run", {"backend", "layout"}},
      {"compare", {"verdict", "what"}},   {"bench", {"batch", "plan"}}};
  int several_blocks = 0;
  for (const TableCommand& command : table_commands()) {
    const auto of = keys.find(command.name);
    if (of == keys.end()) continue;
    const std::string out = run_in(command.line, "50").out;
    const std::vector<std::string> lines = lines_of(out);
    int blocks = 0;
    for (size_t i = 1; i + 1 < lines.size(); ++i) {
      if (!is_rule(lines[i]) || lines[i - 1].find(of->second.front()) != 0) continue;
      ++blocks;
      for (const std::string& key : of->second) {
        const bool same = out.find("every row: " + key) != std::string::npos;
        EXPECT_TRUE(same || lines[i - 1].find(key) != std::string::npos)
            << command.name << ": " << lines[i - 1];
      }
    }
    several_blocks += blocks > 1;
  }
  EXPECT_GE(several_blocks, 3);
}

TEST(Tables, WideAddsTheColumnsThatDidNotFit) {
  const std::string line =
      std::string("convbench run --problem mb1ic3ih12oc3kh3ph1 --backend direct") + kShort + kept("wide");
  const ProgramRun narrow = run_in(line, "80"), wide = run_in(line + " --wide", "80");
  EXPECT_EQ(narrow.out.find("allowed  "), std::string::npos) << narrow.out;
  expect_words(narrow.out, "--wide adds: |allowed");
  expect_words(wide.out, "p10|p90|workspace|max error|allowed|x cuDNN");
}

TEST(Tables, TheDefaultIs100ColumnsAndNonsenseIsIgnored) {
  // A table without measured values, which differs for each width.
  const std::string line =
      "lenslet inspect --verbose " LENSLET_SOURCE_DIR "/tests/models/onnx/separable.onnx";
  const std::string expected = run_in(line, "100").out;
  EXPECT_NE(run_in(line, "99").out, expected);
  for (const char* const nonsense : {"", "wide", "-5", "100x"})
    EXPECT_EQ(run_in(line, nonsense).out, expected);
}

TEST(Help, FitsTheWidth) {
  const auto without_blanks = [](std::string text) {
    text.erase(
        std::remove_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n' || c == '\\'; }),
        text.end());
    return text;
  };
  for (const std::string command : {"lenslet", "lenslet eval", "lenslet classify", "lenslet serve",
                                    "lenslet man", "convbench", "convbench run", "convbench reproduce"}) {
    const std::string wide = run_in(command + " --help", "1000").out;
    EXPECT_NE(wide, "");
    for (const int width : {40, 57, 80, 100}) {
      const ProgramRun run = run_in(command + " --help", std::to_string(width));
      EXPECT_EQ(run.exit_code, kOk) << run.err;
      for (const std::string& line : lines_of(run.out)) EXPECT_LE(width_of(line), width) << run.out;
      EXPECT_EQ(without_blanks(run.out), without_blanks(wide)) << command << ", COLUMNS=" << width;
    }
    EXPECT_EQ(run_in(command + " --help", "").out, run_in(command + " --help", "100").out);
  }
  // An example can be pasted, also if it goes on in a second line.
  expect_words(run_in("convbench run --help", "80").out,
               "\n  convbench run --problem mb8ic64ih128oc128oh126kh3 --backend \\\n    "
               "implicit_gemm,winograd,cudnn\n");
  expect_words(run_in("lenslet eval --help", "80").out,
               "\n  --limit N                     evaluate only the first N images");
}

TEST(Tables, ALegendExplainsTheColumns) {
  expect_words(run_in("lenslet backends --device cpu --legend", "100").out,
               "`explain WORD` has more:|  determinism: Which bits the backend promises to repeat|  rank: ");
  // No word that the table does not have, and no meaning twice.
  const std::string run =
      run_in("convbench run --device cpu --problem mb1ic1ih8oc1kh3 --backend direct --legend" +
                 std::string(kShort),
             "100")
          .out;
  expect_words(run, "  p10, p90: |  layout, NCHW: ");
  for (const char* const absent : {"x cuDNN:", "with copies:", "  reason:", "  implementation:"})
    EXPECT_EQ(run.find(absent), std::string::npos) << absent << " in\n" << run;
}

TEST(Doctor, IsShortByDefault) {
  const ProgramRun brief = run_in("lenslet doctor --device cpu", "100");
  const ProgramRun verbose = run_in("lenslet doctor --device cpu --verbose", "100");
  EXPECT_LE(count_lines(brief.out), 12) << brief.out;
  expect_words(brief.out, "self-test: |PASSED|every backend that can run here computes correctly|--verbose");
  EXPECT_GT(count_lines(verbose.out), 25) << verbose.out;
  expect_words(verbose.out, "cpu conv|worst error");
}

TEST(Doctor, WithoutAGpuItsBlocksArePrintedOnRequestOnly) {
  const std::map<std::string, std::string> hidden = {{"CUDA_VISIBLE_DEVICES", "-1"}};
  for (const std::string command : {"lenslet doctor", "lenslet backends"}) {
    const ProgramRun run = run_in(command, "100", hidden);
    EXPECT_EQ(run.exit_code, kOk) << run.err;
    for (const char* const backend : {"implicit_gemm", "tensor_core", "warp_reduce"})
      EXPECT_EQ(run.out.find(backend), std::string::npos) << command << ":\n" << run.out;
  }
}

// The titles that a source gives to a table's columns, and the statuses that rows have.
std::set<std::string> words_in(const std::string& folder, const std::regex& pattern) {
  std::set<std::string> words;
  for (const auto& entry : fs::recursive_directory_iterator(LENSLET_SOURCE_DIR + folder)) {
    const std::string name = entry.path().filename().string();
    const bool table = entry.path().extension() == ".cpp" || name == "row_table.h";
    if (!table || name.find("fields") == 0) continue;
    const std::string text = read_text(entry.path().string());
    for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at)
      words.insert((*at)[1].str());
  }
  return words;
}

TEST(Explain, ExplainsEveryColumn) {
  const std::regex title(
      "(?:\\.|  |\\b)(?:column|words|number|note|median|quantile|of_launch)\\(\\s*\"([^\"]+)\"[,)]\\s*"
      "(?!row\\.|self\\.|where|images|high|low|math)");
  // Keys of files, from Fields, which have underscores; titles that end in a number or a name.
  int columns = 0;
  for (const std::string& word : words_in("/apps", title)) {
    if (word.find('_') != std::string::npos || word.back() == ' ' || word == "third" || word == "second" ||
        word == "flops" || word == "differing")
      continue;
    const std::string plain = std::regex_replace(word, std::regex("\\\\\\\\"), "\\");
    ++columns;
    ProgramOptions options;
    EXPECT_EQ(run_program({program_path("lenslet"), "explain", plain}, options).exit_code, kOk) << plain;
  }
  EXPECT_GT(columns, 60);
}

// Cells between gaps of two spaces.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  for (size_t begin = 0; (begin = line.find_first_not_of(' ', begin)) != std::string::npos;) {
    const size_t end = std::min(line.size(), line.find("  ", begin));
    cells.push_back(line.substr(begin, end - begin));
    begin = end;
  }
  return cells;
}

// Columns of any command, whatever builds their titles, and the statuses in their rows.
TEST(Explain, ExplainsWhatTheTablesPrint) {
  const auto in_capitals = [](const std::string& cell) {
    return cell.size() > 2 && cell.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos;
  };
  std::set<std::string> words;
  for (const TableCommand& command : table_commands()) {
    std::string above;
    bool in_rows = false;
    for (const std::string& line : lines_of(run_in(command.line + " --wide", "100").out)) {
      if (is_rule(line) && !in_rows) {
        in_rows = true;
        for (const std::string& title : cells_of(above)) words.insert(title);
      } else if (in_rows) {
        for (const std::string& cell : cells_of(line)) {
          if (in_capitals(cell)) words.insert(cell);
        }
      }
      if (line.empty()) in_rows = false;
      above = line;
    }
  }
  for (const std::string& word : words) {
    if (word.find_first_not_of("0123456789") == std::string::npos)
      continue;  // a digit of the confusion matrix
    EXPECT_EQ(run_program({program_path("lenslet"), "explain", word}).exit_code, kOk) << word;
  }
  EXPECT_GT(words.size(), 50u);
}

// The instructions that this code measures as peaks, "AVX2" or "wgmma", on any machine.
std::set<std::string> measured_instructions() {
  const std::string folder = LENSLET_SOURCE_DIR "/apps/common/ceilings/";
  const std::string text = read_text(folder + "peak_rates.cpp") + read_text(folder + "ceiling_kernels.cu");
  const std::regex name(
      "(?:kBaselineName = |loops\\.push_back\\(\\{|\\{MathMode::k\\w+, |\\{math, )\"([^\"]+)\"");
  std::set<std::string> names;
  for (std::sregex_iterator at(text.begin(), text.end(), name), end; at != end; ++at)
    names.insert((*at)[1].str());
  return names;
}

TEST(Explain, ExplainsTheCeilingsAsTheyArePrinted) {
  std::set<std::string> words = measured_instructions();
  EXPECT_EQ(words.size(), 8u);
  std::set<std::string> printed = {"library GEMM"};
  for (const char* const math : {"fp32", "tf32", "fp16"}) {  // as the report names them
    printed.insert(concat(math, " matrix product"));
    for (const std::string& instruction : words) printed.insert(concat(math, " ", instruction));
  }
  words.insert(printed.begin(), printed.end());
  for (const std::string& word : words) expect_run(lenslet("explain " + word), kOk, ": ceiling");
  expect_run(lenslet("explain fp32 winograd"), kUsage, "", "no entry for 'fp32 winograd'");
}

TEST(Explain, ExplainsTheWordsOfNotes) {
  for (const char* const word :
       {"noise", "tied", "roofline", "residual", "CUDA graph", "effective", "swizzle", "persistent", "strips",
        "bank conflict", "cp.async", "not selected", "long scoreboard", "mio throttle", "no instruction"})
    expect_run(lenslet(concat("explain ", word)), kOk, ": term");
}

// The first words of the rows of profile's second table, which have no columns of their own.
TEST(Explain, ExplainsTheRowsOfAPass) {
  const ProgramRun run = run_in(std::string("lenslet profile --batch-size 2") + kShort, "100");
  bool inside = false;
  int rows = 0;
  for (const std::string& line : lines_of(run.out)) {
    if (line.rfind("a pass of ", 0) == 0) inside = true;
    if (line.find(" images/s") != std::string::npos) inside = false;
    if (!inside || line.rfind("a pass of ", 0) == 0 || line.rfind("---", 0) == 0) continue;
    std::string words = line.substr(line.find_first_not_of("-+= "));
    words = words.substr(0, std::min(words.find("  "), words.find(" (")));
    if (words.rfind("wall clock", 0) == 0) words = "wall clock";
    expect_run(lenslet("explain " + words), kOk, ": term");
    ++rows;
  }
  EXPECT_EQ(rows, 9) << run.out;
}

TEST(Explain, ExplainsEveryBackendStatusAndCeiling) {
  std::set<std::string> words = {
      "PASSED",    "FAILED",    "UNSUPPORTED", "SKIPPED",     "SUSPECT",   "ERROR",     "SAME",    "FASTER",
      "SLOWER",    "UNCLEAR",   "CHOSEN",      "memory",      "L1",        "L2",        "L3",      "launch",
      "fp32 gemm", "tf32 gemm", "fp16 gemm",   "fp32 peak",   "tf32 peak", "fp16 peak", "bounded", "bitwise",
      "position",  "AVX512",    "L2 copy",     "memory copy", "NHWC",      "resident"};
  // The rows of the tables of backends, for both kinds of device whatever this build has.
  const std::regex row("\nlenslet_backend\\([a-z0-9_]+ [a-z]+ ([a-z0-9_]+)");
  const char* const changed = std::getenv("LENSLET_TEST_TREE");
  const std::string tree = changed ? changed : LENSLET_SOURCE_DIR;
  const size_t others = words.size();
  for (const char* const folder : {"/layers", "/models"}) {
    for (const auto& entry : fs::recursive_directory_iterator(tree + folder)) {
      if (entry.path().filename() != "CMakeLists.txt") continue;
      const std::string text = "\n" + read_text(entry.path().string());
      for (std::sregex_iterator at(text.begin(), text.end(), row), end; at != end; ++at)
        words.insert((*at)[1].str());
    }
  }
  EXPECT_GE(words.size(), others + 12);
  const nlohmann::json document = parse_json(run_line("lenslet backends --json - --verbose").out);
  for (const auto& backend : document.at("rows")) words.insert(backend.at("backend").get<std::string>());
  // The product's backends have an entry in the glossary; so must every backend with a page of its own. A new one has
  // the words of its row.
  std::set<std::string> with_entry = {
      "direct", "im2col_gemm", "implicit_gemm", "winograd", "tensor_core", "sliced_k",    "depthwise",
      "cudnn",  "cutlass",     "cublas",        "onednn",   "gemm",        "blocked",     "copy",
      "simd",   "small",       "medium",        "mma",      "fp32",        "warp_reduce", "tiled"};
  for (const auto& page : fs::directory_iterator(tree + "/docs/kernels")) {
    const std::string name = page.path().stem().string();
    if (words.count(name) != 0) with_entry.insert(name);
  }
  words.insert(with_entry.begin(), with_entry.end());
  for (const std::string& word : words) {
    const ProgramRun run = run_program({program_path("lenslet"), "explain", word});
    EXPECT_EQ(run.exit_code, kOk) << word << ": " << run.err;
    const bool by_row = run.out.find("Read on: docs/add_a_backend.md") != std::string::npos;
    const long lines = count_lines(run.out);
    EXPECT_TRUE(lines >= 3 && (lines <= 7 || by_row)) << run.out;
    expect_words(run.out, "Read on: ");
    EXPECT_FALSE(by_row && with_entry.count(word) != 0) << "no entry in apps/report/glossary.txt: " << word;
  }
}

TEST(Explain, AnUnknownWordIsAnErrorWithTheNearest) {
  expect_run(lenslet("explain winogard"), kUsage, "", "no entry for 'winogard'; did you mean winograd?");
  expect_run(lenslet("explain stall"), kUsage, "", "no entry for 'stall'; words with it: dispatch stall");
  for (const char* word : {"foo", "conv", "x y"})
    expect_run(lenslet(concat("explain ", word)), kUsage, "",
               concat("no entry for '", word, "'; `explain` lists"));
  expect_run(lenslet("explain standard by"), kOk, "fastest for that part alone");
  expect_run(lenslet("explain nearest ceiling"), kOk, "not a diagnosis");
  expect_run(lenslet("explain"), kOk, "winograd|PASSED|nearest ceiling");
  expect_run(run_line("convbench explain nearest ceiling"), kOk, "not a diagnosis");
  expect_run(run_line("convbench explain colour"), kUsage, "", "no entry for 'colour'");
}

TEST(Explain, EveryEntryNamesAPageAndHasFiveLinesAtMost) {
  const std::string text = read_text(LENSLET_SOURCE_DIR "/apps/report/glossary.txt");
  std::string entry;
  int lines = 0;
  for (const std::string& line : lines_of(text + "\nend | term | docs/cli.md\n  .\n")) {
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == ' ') {
      ++lines;
      continue;
    }
    if (!entry.empty()) {
      EXPECT_TRUE(lines >= 1 && lines <= 5) << entry << ": " << lines << " lines";
      const size_t page = entry.rfind(" | ") + 3;
      const size_t comma = entry.find(", ", page);
      const std::string file = LENSLET_SOURCE_DIR "/" + entry.substr(page, comma - page);
      ASSERT_TRUE(fs::exists(file)) << entry;
      if (comma != std::string::npos) {
        EXPECT_NE(read_text(file).find("# " + entry.substr(comma + 2) + "\n"), std::string::npos) << entry;
      }
    }
    entry = line;
    lines = 0;
  }
}

TEST(Report, WhatItNeedsIsCheckedBeforeAnythingIsMeasured) {
  ProgramOptions options;
  options.environment["LENSLET_PYTHON"] = "/nonexistent/python3";
  const ProgramRun run = run_line(
      std::string("convbench sweep --sizes 8 --json {dir}/out/s.json --report {dir}/out/s.html") + kShort,
      options);
  EXPECT_EQ(run.exit_code, kUnavailable);
  expect_words(run.err, "the report needs Python|apt-get install");
  EXPECT_EQ(run.out, "") << "nothing was measured";
  EXPECT_FALSE(fs::exists(expand("{dir}/out/s.json")));
}

}  // namespace
}  // namespace lenslet::test
