// Common code of the programs: numbers, text, tables, JSON, ceilings.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <new>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "apps/common/ceilings/ceilings.h"
#include "apps/common/ceilings/peak_rates.h"
#include "apps/common/command_line/option_values.h"
#include "apps/common/output/glossary.h"
#include "apps/common/output/output.h"
#include "apps/common/output/progress.h"
#include "apps/common/output/table.h"
#include "apps/common/output/text.h"
#include "apps/common/program/program.h"
#include "apps/common/results/attempt.h"
#include "apps/common/results/document.h"
#include "apps/common/results/result_file.h"
#include "apps/common/system/conditions.h"
#include "framework/base/error.h"
#include "framework/base/parallel.h"
#include "framework/measuring/cpu_caches.h"
#include "framework/measuring/row_status.h"
#include "framework/tensor/math_mode.h"

namespace lenslet {
namespace {

// What the kind parses, prints and accepts; it must reject all of `refused`.
template <typename Kind>
void expect_reads(const Kind& kind, const std::string& text, const typename Kind::Value& value,
                  const std::string& shown, const std::vector<std::string>& refused) {
  const typename Kind::Value parsed = kind.parse("--x", text);
  EXPECT_EQ(parsed, value) << text;
  EXPECT_TRUE(kind.holds(parsed)) << text;
  EXPECT_EQ(kind.show(parsed), shown);
  EXPECT_EQ(kind.parse("--x", shown), parsed) << shown;
  for (const std::string& bad : refused) EXPECT_THROW(kind.parse("--x", bad), UsageError) << bad;
}

// A new backend is one file and one row. The row explains it until the glossary has an entry.
TEST(Glossary, ExplainsABackendWithoutAnEntryByItsRows) {
  const std::vector<GlossaryEntry> entries =
      with_backends({{{"winograd"}, "backend", "docs/kernels/winograd.md", {"Transforms tiles."}},
                     {{"fancy"}, "term", "docs/cli.md", {"Not the backend of that name."}}},
                    "conv gpu winograd layers/conv/gpu/winograd.cu\n"
                    "conv gpu fancy layers/conv/gpu/fancy.cu\n"
                    "linear cpu fancy layers/linear/cpu/fancy.cpp\n");
  ASSERT_EQ(entries.size(), 3u);
  EXPECT_EQ(entries[0].lines, std::vector<std::string>{"Transforms tiles."});
  EXPECT_EQ(entries[2].words, std::vector<std::string>{"fancy"});
  EXPECT_EQ(entries[2].kind, "backend");
  EXPECT_EQ(entries[2].see, "docs/add_a_backend.md");
  EXPECT_EQ(entries[2].lines,
            (std::vector<std::string>{"A backend of conv on the GPU: layers/conv/gpu/fancy.cu",
                                      "A backend of linear on the CPU: layers/linear/cpu/fancy.cpp"}));
}

TEST(OptionValues, Integers) {
  expect_reads(Integer{1, 100}, "42", 42, "42",
               {"", " 1", "1 ", "+1", "1e2", "0x1", "1.0", "1,0", "one", "0", "101", "9223372036854775808"});
  expect_reads(Integer{-5, 5}, "-3", -3, "-3", {"-6", "6"});
  EXPECT_FALSE((Integer{1, 100}.holds(0)) || (Integer{1, 100}.holds(101)));
}

TEST(OptionValues, Numbers) {
  expect_reads(Number{0, 1}, "0.250", 0.25, "0.25",
               {"", "nan", "inf", "1e-3", "0,5", "1.01", "-0.1", "0.5x"});
  expect_reads(milliseconds(), "3600000", 3.6e6, "3600000", {"3600001"});
  double unset = NAN;
  const Number positive{0, 1};
  const MemberValue<Number, double> member(positive, unset);
  EXPECT_TRUE(member.show().empty() && member.legal());
  unset = 2;
  EXPECT_FALSE(member.legal());
}

TEST(OptionValues, Sizes) {
  const Sizes sizes(65536);
  expect_reads(sizes, "256:4096:x2", {256, 512, 1024, 2048, 4096}, "256,512,1024,2048,4096",
               {"", "0", "1:2", "1:2:2", "1:2:x1", "2:1:x2", "1:65537:x2", "1:2:x", "1,,2"});
  expect_reads(sizes, "10:999:x10", {10, 100}, "10,100", {});
  expect_reads(sizes, "7:7:x3", {7}, "7", {});
  expect_reads(sizes, "5,3", {5, 3}, "5,3", {});
}

TEST(OptionValues, Bytes) {
  expect_reads(ByteCount{}, "1", 1u, "1",
               {"", "0", "0K", "-1", "M", "64m", "64MB", "1.5G", "16777216T", "18446744073709551616"});
  expect_reads(ByteCount{}, "64M", size_t{64} << 20, "67108864", {});
  expect_reads(ByteCount{}, "3G", size_t{3} << 30, "3221225472", {});
  EXPECT_EQ(ByteCount{}.parse("--b", "16777215T"), size_t{16777215} << 40);
}

TEST(OptionValues, WordsAndLists) {
  const auto maths = words({MathMode::kFp32, MathMode::kTf32}, to_string);
  expect_reads(maths, "tf32", MathMode::kTf32, "tf32", {"", "fp64", "TF32", "tf32,fp32"});
  EXPECT_FALSE(maths.holds(MathMode::kFp16));
  expect_reads(List{maths}, "tf32,fp32", {MathMode::kTf32, MathMode::kFp32}, "tf32,fp32",
               {"", ",", "fp32,", "fp32,fp64", "none"});
  expect_reads(List{maths, "none"}, "none", {}, "none", {"", "fp32,none"});
  std::string thousand = "1";
  for (int i = 1; i < 1000; ++i) thousand += ",1";
  EXPECT_EQ(List{Integer{}}.parse("--x", thousand).size(), 1000u);
  EXPECT_THROW(List{Integer{}}.parse("--x", thousand + ",1"), UsageError);
  expect_reads(Text{"FILE", nullptr, {".png", ".pgm"}}, "a.pgm", "a.pgm", "a.pgm", {"", "a.jpg", "png"});
}

TEST(Text, Numbers) {
  EXPECT_EQ(format_short(0.012345), "0.0123");
  EXPECT_EQ(format_short(12.345), "12.3");
  EXPECT_EQ(format_short(12345), "12345");
  EXPECT_EQ(format_short(-2.5), "-2.50");
  EXPECT_EQ(format_short(NAN), "-");
  EXPECT_EQ(format_time(1500), "1.50 us");
  EXPECT_EQ(format_time(999), "999 ns");
  EXPECT_EQ(format_time(2.5e6), "2.50 ms");
  EXPECT_EQ(format_time(999e6), "999 ms");
  EXPECT_EQ(format_time(2.5e9), "2.50 s");
  EXPECT_EQ(format_bytes(784), "784 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_count(-1234567), "-1,234,567");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_rate(INFINITY), "-");
  EXPECT_EQ(format_share(0.0123), "1.2 %");
  EXPECT_EQ(format_share(12.3), "1230 %");
  EXPECT_EQ(format_share(1e30), "1.00e+32 %");
  EXPECT_EQ(format_percent(0.9963), "99.63 %");
}

TEST(Text, PrintableEscapesWhatTerminalsWouldObey) {
  EXPECT_EQ(printable("plain \xc3\xa9"), "plain \xc3\xa9");
  EXPECT_EQ(printable("a\nb\tc\x1b[31m"), "a\\nb\\tc\\x1b[31m");
  EXPECT_EQ(printable("\xff\xc0\xaf"), "\\xff\\xc0\\xaf");
  EXPECT_EQ(printable("\x1f \x7f"), "\\x1f \\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\xc2\\x9b");           // C1 control
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82");           // cut short
  // Characters that change the direction of text or are invisible.
  EXPECT_EQ(printable("gnp.\xe2\x80\xae.exe"), "gnp.\\xe2\\x80\\xae.exe");             // U+202E
  EXPECT_EQ(printable("\xe2\x81\xa6\xe2\x80\x8b"), "\\xe2\\x81\\xa6\\xe2\\x80\\x8b");  // U+2066, U+200B
  EXPECT_EQ(printable("\xef\xbb\xbf\xf3\xa0\x81\x81"),
            "\\xef\\xbb\\xbf\\xf3\\xa0\\x81\\x81");  // U+FEFF, tag A
  EXPECT_EQ(printable("\xe2\x96\x88 \xc3\x97 \xf0\x9f\x98\x80"), "\xe2\x96\x88 \xc3\x97 \xf0\x9f\x98\x80");
  EXPECT_EQ(printable_lines("a\n\x1b[2Jb\xc2\x85\n"), "a\n\\x1b[2Jb\\xc2\\x85\n");
}

TEST(Text, CsvFieldsAreNoFormulas) {
  EXPECT_EQ(csv_field("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(csv_field("=HYPERLINK(\"http://x\",\"y\")"), "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"");
  for (const std::string text : {"=1+1", "+1", "-1", "@SUM(A1)", "'quoted", "'"})
    EXPECT_EQ(csv_field(text), "'" + text);
  for (const std::string text : {"", "mb1ic1", "a=b", " =1", "3-4"}) EXPECT_EQ(csv_field(text), text);
  EXPECT_EQ(csv_field("\t=1"), "\\t=1");
}

TEST(Text, LinesHaveABoundedLength) {
  EXPECT_EQ(printable_line("short \x1b"), "short \\x1b");
  const std::string line = printable_line(std::string("begin") + std::string(3'000'000, '\x1b') + "end");
  EXPECT_LE(line.size(), kMaxLineBytes + 3) << "bytes, and the ellipsis";
  EXPECT_EQ(line.substr(0, 9), "begin\\x1b");
  EXPECT_EQ(line.substr(line.size() - 3), "end");
}

TEST(Table, AlignsByCharactersAndEndsLinesWithoutBlanks) {
  Table table;
  table.column("name", Table::Align::kLeft).column("n");
  table.row({"\xc3\xa9", "1"}).row({"longer", "100"});
  EXPECT_EQ(table.to_string(), "name      n\n-----------\n\xc3\xa9         1\nlonger  100\n");
  EXPECT_THROW(table.row({"1", "2", "3"}), std::logic_error);
}

TEST(Table, ShowsCellsOnOneLineEach) {
  Table table;
  table.column("name").row({"a\nb\x1b[31m\xe2\x80\xae"}).row({std::string(1'000'000, 'x')});
  const std::string text = table.to_string();
  EXPECT_NE(text.find("a\\nb\\x1b[31m\\xe2\\x80\\xae\n"), std::string::npos);
  EXPECT_LT(text.size(), 10'000u);
}

// Looks of this width.
TableLook look_of(size_t width, bool colour = false) {
  TableLook look;
  look.width = width;
  look.colour = colour;
  return look;
}

Table table_of_backends() {
  Table table;
  table.column("backend", Table::Align::kLeft)
      .column("math", Table::Align::kLeft)
      .column("status", Table::Align::kLeft);
  table.column("us").column("p10", Table::Align::kRight, Table::Use::kIfItFits).column("empty");
  table.column("reason", Table::Align::kLeft, Table::Use::kNote);
  table.row({"direct", "fp32", "PASSED", "12.5", "12.1", "-", ""});
  table.row({"winograd", "fp32", "PASSED", "9.5", "9.1", "", ""});
  table.row(
      {"slow", "fp32", "FAILED", "1.5", "1.1", "", "a long reason, which fills more than a line of it"});
  return table;
}

TEST(Table, DropsEmptyColumnsAndPutsReasonsBelow) {
  EXPECT_EQ(table_of_backends().to_string(look_of(60)),
            "backend   math  status    us   p10  note\n"
            "----------------------------------------\n"
            "direct    fp32  PASSED  12.5  12.1\n"
            "winograd  fp32  PASSED   9.5   9.1\n"
            "slow      fp32  FAILED   1.5   1.1     1\n"
            "  1  a long reason, which fills more than a line of it\n");
}

TEST(Table, StatesConstantsThenDropsWhatMayGoThenWraps) {
  EXPECT_EQ(table_of_backends().to_string(look_of(30)),
            "backend   status    us  note\n"
            "----------------------------\n"
            "direct    PASSED  12.5\n"
            "winograd  PASSED   9.5\n"
            "slow      FAILED   1.5     1\n"
            "  1  a long reason, which\n"
            "     fills more than a line of\n"
            "     it\n"
            "every row: math fp32\n"
            "--wide adds: p10\n");
}

TEST(Table, NoLineIsLongerThanTheWidth) {
  Table table;
  table.column("a title of several words", Table::Align::kLeft);
  for (int i = 0; i < 12; ++i) table.column("column " + std::to_string(i));
  table.row({"mb1ic3ih256oc3oh256kh3ph1_with_a_name_that_has_no_space_in_it", "1", "22", "333"});
  table.row({"x", std::string(70, '9'), "", "", "4", "5", "6", "7", "8", "9", "10", "11", "12"});
  for (const size_t width : {40, 41, 55, 80, 100}) {
    std::istringstream text(table.to_string(look_of(width)));
    for (std::string line; std::getline(text, line);) EXPECT_LE(line.size(), width) << line;
  }
  TableLook wide;
  wide.wide = true;
  EXPECT_NE(table.to_string(wide).find(std::string(70, '9')), std::string::npos);
}

TEST(Table, BlocksBeginWithTheKeys) {
  Table table;
  table.column("channels").column("size", Table::Align::kRight, Table::Use::kKey);
  table.column("a long title").column("another title").column("the last");
  table.row({"32", "28", "1.5", "2.5", "3"}).row({"32", "56", "4.5", "5.5", "6"});
  EXPECT_EQ(table.to_string(look_of(40)),
            "channels  size  a long title\n"
            "----------------------------\n"
            "      32    28           1.5\n"
            "      32    56           4.5\n"
            "\n"
            "channels  size  another title  the last\n"
            "---------------------------------------\n"
            "      32    28            2.5         3\n"
            "      32    56            5.5         6\n");
}

TEST(Table, KeysThatLeaveNoRoomAreNotRepeated) {
  Table table;
  table.column("name")
      .column("a second key", Table::Align::kRight, Table::Use::kKey)
      .column("one")
      .column("two");
  table.row({"x", std::string(18, 'k'), std::string(18, '1'), std::string(18, '2')});
  const std::string text = table.to_string(look_of(40));
  EXPECT_NE(text.find("\nname                 two\n"), std::string::npos) << text;
}

TEST(Table, ColoursStatusesAndTheFastestThatPassed) {
  Table table = table_of_backends();
  table.mark_lowest_of_column(3);
  const std::string plain = table.to_string(look_of(100)), painted = table.to_string(look_of(100, true));
  EXPECT_EQ(plain.find('\x1b'), std::string::npos);
  EXPECT_NE(painted.find("\x1b[32mPASSED\x1b[0m"), std::string::npos);
  EXPECT_NE(painted.find("\x1b[1;31mFAILED\x1b[0m"), std::string::npos);
  EXPECT_NE(painted.find("\x1b[1;32m9.5\x1b[0m"), std::string::npos) << painted;
  EXPECT_EQ(painted.find("\x1b[1;32m1.5"), std::string::npos) << "a wrong row is not the fastest";
  EXPECT_EQ(std::regex_replace(painted, std::regex("\x1b\\[[0-9;]*m"), ""), plain);
}

/// A pseudo-terminal of 72 columns: its descriptor on the program's side, -1 if none can be opened.
class PseudoTerminal {
 public:
  PseudoTerminal() : own_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    if (own_ < 0 || ::grantpt(own_) != 0 || ::unlockpt(own_) != 0) return;
    theirs_ = ::open(::ptsname(own_), O_RDWR | O_NOCTTY);
    winsize size = {};
    size.ws_col = 72;
    EXPECT_EQ(::ioctl(theirs_, TIOCSWINSZ, &size), 0);
  }
  ~PseudoTerminal() {
    ::close(theirs_);
    ::close(own_);
  }
  int descriptor() const { return theirs_; }

 private:
  int own_, theirs_ = -1;
};

TEST(TableLook, FollowsTheEnvironment) {
  const int file = ::open("/dev/null", O_WRONLY);
  ::unsetenv("COLUMNS");
  EXPECT_EQ(TableLook::of(file).width, 100u);
  EXPECT_FALSE(TableLook::of(file).colour);
  ::setenv("COLUMNS", "90", 1);
  EXPECT_EQ(TableLook::of(file).width, 90u);
  ::setenv("COLUMNS", "3", 1);
  EXPECT_EQ(TableLook::of(file).width, 40u);
  ::unsetenv("COLUMNS");
  ::close(file);
}

TEST(TableLook, FollowsTheTerminal) {
  const PseudoTerminal terminal;
  if (terminal.descriptor() < 0) GTEST_SKIP() << "no pseudo-terminal can be opened here";
  ::unsetenv("COLUMNS");
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "xterm", 1);
  EXPECT_EQ(TableLook::of(terminal.descriptor()).width, 72u);
  EXPECT_TRUE(TableLook::of(terminal.descriptor()).colour);
  ::setenv("COLUMNS", "90", 1);
  EXPECT_EQ(TableLook::of(terminal.descriptor()).width, 90u);
  ::setenv("NO_COLOR", "1", 1);
  EXPECT_FALSE(TableLook::of(terminal.descriptor()).colour);
  ::unsetenv("NO_COLOR");
  ::setenv("TERM", "dumb", 1);
  EXPECT_FALSE(TableLook::of(terminal.descriptor()).colour);
  ::unsetenv("COLUMNS");
}

TEST(Progress, OffATerminalALineEachPeriod) {
  const auto printed = [](double line_ns) {
    testing::internal::CaptureStderr();
    ProgressBar bar("layers", 4, line_ns);
    for (int i = 1; i <= 4; ++i) bar.update(i);
    return testing::internal::GetCapturedStderr();
  };
  const std::string lines = printed(0);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 4) << lines;
  EXPECT_EQ(lines.rfind("layers: 1/4, ", 0), 0u) << lines;
  EXPECT_EQ(lines.find_first_of("\r\x1b"), std::string::npos) << lines;
  EXPECT_EQ(printed(ProgressBar::kLineNs), "");
}

// "1:05" in seconds.
int seconds_before(const std::string& line, const std::string& words) {
  const size_t end = line.find(words), begin = line.rfind(' ', end - 1) + 1, colon = line.find(':', begin);
  if (end == std::string::npos || colon >= end) return -1;
  return 60 * std::stoi(line.substr(begin, colon - begin)) + std::stoi(line.substr(colon + 1, 2));
}

TEST(Progress, ATimeThatIsExpectedIsCorrectedByTheItemsThatAreDone) {
  testing::internal::CaptureStderr();
  ProgressBar bar("cases", 3, 0);
  bar.expect({0.02, 10, 8});
  bar.pulse();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));  // three times as long as expected, or longer
  bar.update(1);
  bar.pulse();
  std::istringstream lines(testing::internal::GetCapturedStderr());
  std::string before, after, again;
  std::getline(lines, before);
  std::getline(lines, after);
  std::getline(lines, again);
  EXPECT_EQ(before, "cases: 0/3, about 0:18 left");
  EXPECT_EQ(after.rfind("cases: 1/3, ", 0), 0u) << after;
  EXPECT_GE(seconds_before(after, " left"), 3 * 18 - 1) << after;
  EXPECT_EQ(again.rfind("cases: 1/3, ", 0), 0u) << "a pulse finishes no item: " << again;
}

TEST(Progress, OneItemAloneShowsTheTimeSoFar) {
  testing::internal::CaptureStderr();
  ProgressBar bar("plans", 1, 0);
  bar.pulse();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "plans: 0:00 so far\n");
}

TEST(Console, WrapsItsLines) {
  ::setenv("COLUMNS", "40", 1);
  Console console({});
  ::unsetenv("COLUMNS");
  testing::internal::CaptureStdout();
  console.line("\nbackends:   conv1 direct, conv2 gemm, fc1 gemm, fc2 gemm", 12);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "\nbackends:   conv1 direct, conv2 gemm,\n            fc1 gemm, fc2 gemm\n");
  testing::internal::CaptureStdout();
  console.line();
  console.line("short");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "\nshort\n");
}

TEST(Console, PrintsNothingThatSteersATerminal) {
  Console console({});
  testing::internal::CaptureStdout();
  console.print("two\nlines, \x1b[2J and \xc2\x9b\n");
  console.line("\xe2\x80\xae");
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "two\nlines, \\x1b[2J and \\xc2\\x9b\n\\xe2\\x80\\xae\n");
}

// The text of a document with the members that `body` adds.
std::string written(const std::function<void(Document&)>& body) {
  std::string text;
  Document document([&](const std::string& part) { text += part; }, "lenslet.test/1", ResultEnvironment());
  body(document);
  document.finish();
  return text;
}

TEST(Document, WritesWhatReadsBackExactly) {
  const double awkward = 0.1 + 0.2;
  const std::string unseen = "\xc2\x9b \xe2\x80\xae \xf3\xa0\x81\x81 \x7f";
  const std::string text = written([&](Document& document) {
    document.members()("d", awkward)("nan", NAN)("inf", -INFINITY);
    document.members()("i", std::numeric_limits<int64_t>::min())("u", std::numeric_limits<uint64_t>::max());
    document.members()("s", std::string("q\"b\\n\nc\x01 \xff\xc3\xa9"))("unseen", unseen)("empty", "");
    document.members()("list", std::vector<std::string>{"", "x"})("flag", true);
  });
  const nlohmann::json read = nlohmann::json::parse(text);
  EXPECT_EQ(read.at("schema"), "lenslet.test/1");
  EXPECT_EQ(read.at("d").get<double>(), awkward);
  EXPECT_TRUE(read.at("nan").is_null() && read.at("inf").is_null());
  EXPECT_EQ(read.at("i").get<int64_t>(), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(read.at("u").get<uint64_t>(), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(read.at("s").get<std::string>(), "q\"b\\n\nc\x01 \\xff\xc3\xa9");
  EXPECT_TRUE(read.at("empty").is_null());
  EXPECT_EQ(read.at("list"), nlohmann::json::array({"", "x"}));
  EXPECT_EQ(read.at("flag"), true);
  EXPECT_EQ(read.at("unseen").get<std::string>(), unseen);
  EXPECT_EQ(printable_lines(text), text) << "a terminal may show it";
}

TEST(Document, EscapesEveryControlCharacter) {
  for (int byte = 0; byte <= 0x7f; ++byte) {
    const std::string value = concat("a", static_cast<char>(byte), "b");
    const std::string text = written([&](Document& document) { document.members()("s", value); });
    const bool raw = text.find(value) != std::string::npos;
    EXPECT_EQ(raw, byte >= 0x20 && byte != 0x7f && byte != '"' && byte != '\\') << byte;
    EXPECT_EQ(nlohmann::json::parse(text).at("s").get<std::string>(), value) << byte;
  }
}

struct Numbered {
  int index = 0;

  template <class Self, class V>
  static void fields(Self& self, V&& v) {
    v("index", self.index);
  }
};

TEST(Document, HandsEachEntryOver) {
  size_t longest = 0;
  std::string text;
  Document document(
      [&](const std::string& part) {
        longest = std::max(longest, part.size());
        text += part;
      },
      "lenslet.test/1", ResultEnvironment());
  document.begin_list("rows");
  for (int i = 0; i < 100000; ++i) document.entry(Numbered{i});
  document.end_list();
  document.list("none", std::vector<Numbered>());
  document.status(false, "it failed");
  document.finish();
  EXPECT_LT(longest, 4096u) << "a long list needs constant memory";
  const nlohmann::json read = nlohmann::json::parse(text);
  EXPECT_EQ(read.at("rows").size(), 100000u);
  EXPECT_EQ(read.at("rows").at(99999).at("index"), 99999);
  EXPECT_TRUE(read.at("none").is_array() && read.at("none").empty());
  EXPECT_EQ(read.at("status"), "ERROR");
  EXPECT_EQ(read.at("reason"), "it failed");
}

// The exit code and message of every exception that can end a command.
template <typename E>
int end_with(const E& error) {
  char name[] = "program";
  char* argv[] = {name, nullptr};
  return program_main("program", "use less", 1, argv,
                      [&](int, const char* const*) -> std::function<ExitCode()> {
                        return [&]() -> ExitCode { throw error; };
                      });
}

TEST(Program, EndsWithTheCodeOfWhatWentWrong) {
  const auto exits = [](int code) { return testing::ExitedWithCode(code); };
  EXPECT_EXIT(std::exit(end_with(CheckError("it differs"))), exits(1), "program: error: it differs");
  EXPECT_EXIT(std::exit(end_with(UsageError("no such flag"))), exits(2), "program: error: no such flag");
  EXPECT_EXIT(std::exit(end_with(DataError("cut off"))), exits(3), "program: error: cut off");
  EXPECT_EXIT(std::exit(end_with(UnavailableError("no GPU"))), exits(4), "program: error: no GPU");
  EXPECT_EXIT(std::exit(end_with(DeviceError("fault"))), exits(5), "program: error: fault");
  EXPECT_EXIT(std::exit(end_with(std::runtime_error("of a library"))), exits(5),
              "program: error: of a library");
  EXPECT_EXIT(std::exit(end_with(MemoryError("too large"))), exits(6), "program: error: too large");
  EXPECT_EXIT(std::exit(end_with(std::bad_alloc())), exits(6), "program: error: out of memory; use less");
  EXPECT_EXIT(std::exit(end_with(InterruptedError("stop"))), exits(130), "program: interrupted");
}

TEST(Attempt, TurnsErrorsIntoTheStatusOfARow) {
  const auto row_of = [](const auto& error) {
    ResultRow row;
    EXPECT_FALSE(attempt(row, [&] { throw error; }));
    return row.status + ", " + row.reason;
  };
  EXPECT_EQ(row_of(UnavailableError("no library")), "UNSUPPORTED, no library");
  EXPECT_EQ(row_of(MemoryError("too large")), "SKIPPED, too large");
  EXPECT_EQ(row_of(DeviceError("launch failed")), "ERROR, launch failed");
  EXPECT_EQ(row_of(InterruptedError("stop")), std::string("SKIPPED, ") + kInterrupted);
  ResultRow row;
  EXPECT_TRUE(attempt(row, [&] { row.reason = "ran"; }));
  EXPECT_EQ(row.status + ", " + row.reason, "PASSED, ran");
  for (const ExitCode code : {ExitCode::kUsage, ExitCode::kData, ExitCode::kOutput, ExitCode::kCheckFailed})
    EXPECT_THROW(attempt([&] { throw Error(code, "of the whole run"); }), Error) << static_cast<int>(code);
}

TEST(Attempt, LetsNoErrorOfARunEndTheOthers) {
  Stream stream(Device::cpu());
  for (const ExitCode code : {ExitCode::kDevice, ExitCode::kMemory, ExitCode::kData}) {
    const auto refusal = attempt_run("one", stream, [&] { throw Error(code, "it failed"); });
    ASSERT_TRUE(refusal);
    EXPECT_EQ(refusal->status + ", " + refusal->reason, "ERROR, it failed");
    EXPECT_EQ(refusal->code, code);
  }
  EXPECT_FALSE(attempt_run("one", stream, [] {}));
}

TEST(ResultFile, CsvQuotesTextsAndLeavesNumbers) {
  ResultRow row;
  row.study = row.name = row.problem = row.backend = row.detail = row.math = row.layout = row.cache =
      row.status = row.reason = row.bound_by = row.repro = "=x,y";
  row.labels = {{"=a", "b"}};
  row.setup_ns = -2.5;
  ResultFile file;
  file.rows = {row};
  const std::string csv = file.to_csv();
  const std::string line = csv.substr(csv.find('\n') + 1);
  size_t quoted = 0;
  for (size_t at = line.find("\"'=x,y\""); at != std::string::npos; at = line.find("\"'=x,y\"", at + 1))
    ++quoted;
  EXPECT_EQ(quoted, 12u) << line;
  EXPECT_EQ(line.find(",="), std::string::npos) << line;
  EXPECT_NE(line.find(",'=a=b,"), std::string::npos) << line;
  EXPECT_NE(line.find(",-2.5,"), std::string::npos) << line;
}

TEST(ResultFile, NotANumberBecomesNull) {
  ResultFile file;
  file.tool = "test";
  ResultRow row;
  row.name = "n";
  row.flops = NAN;
  row.ceiling_fraction = INFINITY;
  row.error = ResultError{NAN, 0, 1, 3};
  file.rows.push_back(row);
  const nlohmann::json read = nlohmann::json::parse(file.to_json()).at("results").at(0);
  EXPECT_TRUE(read.at("flops").is_null());
  EXPECT_TRUE(read.at("time_ns").is_null());
  EXPECT_TRUE(read.at("error").at("max_abs").is_null());
  EXPECT_EQ(file.to_csv().find("nan"), std::string::npos);
}

TEST(Ceilings, TheOneThatTakesLongestBinds) {
  Ceilings ceilings;
  ceilings.copy_bytes_per_s = 1e9;
  ceilings.caches = {{"L2", 1000, 10e9}};
  ceilings.fp32_flops_per_s = 1e9;
  EXPECT_EQ(binding_ceiling(ceilings, {10, 100}, MathMode::kFp32, false).by, "memory");
  EXPECT_DOUBLE_EQ(binding_ceiling(ceilings, {10, 100}, MathMode::kFp32, false).best_ns, 100);
  EXPECT_EQ(binding_ceiling(ceilings, {0, 100}, MathMode::kFp32, true).by, "L2");
  EXPECT_DOUBLE_EQ(binding_ceiling(ceilings, {0, 100}, MathMode::kFp32, true).best_ns, 10);
  EXPECT_EQ(binding_ceiling(ceilings, {0, 3000}, MathMode::kFp32, true).by, "memory");
  EXPECT_EQ(binding_ceiling(ceilings, {0, 3000, 100}, MathMode::kFp32, true).by, "L2") << "of 100 at a time";
  EXPECT_EQ(binding_ceiling(ceilings, {0, 3000, 100}, MathMode::kFp32, false).by, "memory");
  EXPECT_EQ(binding_ceiling(ceilings, {1000, 100}, MathMode::kFp32, true).by, "fp32 gemm");
  EXPECT_EQ(binding_ceiling(ceilings, {1000, 100}, MathMode::kTf32, true).by, "L2");  // tf32 was not measured
  ceilings.fp16_flops_per_s = 2e9;
  EXPECT_EQ(binding_ceiling(ceilings, {1000, 100}, MathMode::kFp16, true).by, "fp16 gemm");
  EXPECT_DOUBLE_EQ(binding_ceiling(ceilings, {1000, 100}, MathMode::kFp16, true).best_ns, 500);
  ceilings.device = Device::cuda();
  EXPECT_NE(describe(ceilings).find("fp16 2.00 GFLOP/s"), std::string::npos) << describe(ceilings);
  // Reads set the limit if they are faster than copies.
  ceilings.read_bytes_per_s = 2e9;
  ceilings.caches[0].read_bytes_per_s = 20e9;
  EXPECT_DOUBLE_EQ(binding_ceiling(ceilings, {10, 100}, MathMode::kFp32, false).best_ns, 50);
  EXPECT_DOUBLE_EQ(binding_ceiling(ceilings, {0, 100}, MathMode::kFp32, true).best_ns, 5);
  ceilings.replayed_launch_ns = 2000;
  EXPECT_EQ(binding_ceiling(ceilings, {1000, 100}, MathMode::kFp32, true).by, "launch");
}

// A library's rate is no limit: the fastest instruction of the math mode is. The library's rate replaces it only if it
// is higher than all measured instructions.
TEST(Ceilings, ThePeakIsTheLimitAndTheLibraryStandsBesideIt) {
  Ceilings ceilings;
  ceilings.fp32_flops_per_s = 51e12;
  ceilings.tf32_flops_per_s = 390e12;
  ceilings.peaks = {{MathMode::kFp32, "FFMA", 65.8e12},
                    {MathMode::kTf32, "mma.sync", 300e12},
                    {MathMode::kTf32, "wgmma", 480e12},
                    {MathMode::kFp32, "other", 10e12}};
  EXPECT_EQ(arithmetic_limit(ceilings, MathMode::kFp32).by, "fp32 peak");
  EXPECT_DOUBLE_EQ(arithmetic_limit(ceilings, MathMode::kFp32).flops_per_s, 65.8e12);
  EXPECT_DOUBLE_EQ(arithmetic_limit(ceilings, MathMode::kTf32).flops_per_s, 480e12);
  EXPECT_TRUE(std::isnan(arithmetic_limit(ceilings, MathMode::kFp16).flops_per_s));
  ceilings.tf32_flops_per_s = 490e12;
  EXPECT_EQ(arithmetic_limit(ceilings, MathMode::kTf32).by, "tf32 gemm");
  EXPECT_DOUBLE_EQ(arithmetic_limit(ceilings, MathMode::kTf32).flops_per_s, 490e12);
  // 60 of 65.8: within the limit, although above the library's rate.
  ResultRow row;
  row.cache = "hot";
  row.time.median = 1e6;
  apply_ceiling(row, ceilings, {60e9, 0}, MathMode::kFp32);
  EXPECT_EQ(row.status, row_status::kPassed);
  EXPECT_EQ(row.bound_by, "fp32 peak");
  EXPECT_NEAR(row.ceiling_fraction, 60 / 65.8, 1e-9);
  apply_ceiling(row, ceilings, {80e9, 0}, MathMode::kFp32);
  EXPECT_EQ(row.status, row_status::kSuspect);
  row.status = row_status::kPassed;
  row.products_saved = 2.25;  // the same rate, effective
  apply_ceiling(row, ceilings, {80e9, 0}, MathMode::kFp32);
  EXPECT_EQ(row.status, row_status::kPassed);
}

TEST(Ceilings, OfTheCpuAreMeasured) {
  const Ceilings ceilings = measure_ceilings(Device::cpu());
  ASSERT_EQ(ceilings.peaks.size(), fma_loops().size());
  EXPECT_EQ(ceilings.caches.size(), 3u);
  if (const CpuCaches l3 = cpu_caches(3); l3.count > 0) {
    EXPECT_LE(ceilings.caches.back().capacity_bytes, static_cast<double>(l3.bytes) * l3.count)
        << "the package's, not these cores'";
  }
  for (const CacheCeiling& cache : ceilings.caches) {
    EXPECT_GT(cache.copy_bytes_per_s, 1e8) << cache.name;
    EXPECT_GT(cache.read_bytes_per_s, 1e8) << cache.name;
    // 10 GHz with one load of 128 bytes per cycle: no thread reads faster.
    EXPECT_LT(cache.read_bytes_per_s, 1280e9 * num_threads()) << cache.name;
  }
  for (const PeakRate& peak : ceilings.peaks) {
    EXPECT_EQ(peak.math, MathMode::kFp32);
    EXPECT_GT(peak.flops_per_s, 1e8) << peak.instruction;
    // 10 GHz with two units of 16 lanes: no core is faster.
    EXPECT_LT(peak.flops_per_s, 640e9 * num_threads()) << peak.instruction;
  }
  EXPECT_GT(ceilings.read_bytes_per_s, 1e8);
  EXPECT_GT(ceilings.copy_bytes_per_s, 1e8);
  EXPECT_GT(ceilings.fp32_flops_per_s, 1e7);
  EXPECT_FALSE(ceilings.gemm_library.empty());
  EXPECT_TRUE(std::isnan(ceilings.launch_ns));
}

TEST(PeakRates, EveryWordIsRead) {
  alignas(64) uint32_t words[1024];
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 1024; ++i) sum += words[i] = i * i;
  EXPECT_EQ(read_words(words, 1024), sum);
}

// Each round multiplies and adds once: the sums tend to addend / (1 - factor).
TEST(PeakRates, EveryRoundMultipliesAndAdds) {
  for (const FmaLoop& loop : fma_loops()) {
    const double sums = loop.flops_per_round / 2;
    EXPECT_NEAR(loop.run(0, 0.5f, 1.0f), loop.run(1, 1.0f, 0.0f), 1e-3) << loop.instruction;
    EXPECT_NEAR(loop.run(60, 0.5f, 1.0f), 2 * sums, 1e-3 * sums) << loop.instruction;
    EXPECT_NEAR(loop.run(1, 0.0f, 3.0f), 3 * sums, 1e-3 * sums) << loop.instruction;
  }
}

TEST(Conditions, OfTheCpuAreReadOrAReasonIsGiven) {
  const Conditions now = read_conditions(Device::cpu());
  EXPECT_TRUE(now.clock_mhz > 100 || now.reason.find("tells the clock") != std::string::npos) << now.reason;
  EXPECT_TRUE(!now.governor.empty() || now.reason.find("no governor") != std::string::npos) << now.reason;
  const std::string text = written([&](Document& document) { document.members()("before", now); });
  const nlohmann::json read = nlohmann::json::parse(text).at("before");
  EXPECT_EQ(read.at("device"), "cpu");
  EXPECT_TRUE(read.at("power_w").is_null());
  EXPECT_FALSE(read.at("reason").is_null());
}

TEST(ResultFile, ARateThatCountsSavedProductsIsCalledEffective) {
  ResultRow row;
  EXPECT_EQ(format_gflops(row), "-");
  row.flops = 3e6;
  row.time.median = 1e3;
  EXPECT_EQ(format_gflops(row), format_short(3000));
  row.products_saved = 2.25;
  EXPECT_EQ(format_gflops(row, 1e3), format_short(3) + " effective");
  EXPECT_EQ(format_gflops(row, 1, 2e3), format_short(1500) + " effective");
}

TEST(ResultFile, ConditionsAreThoseBeforeAndAfter) {
  ResultFile file;
  file.tool = "test";
  EXPECT_EQ(file.to_json().find("\"conditions\""), std::string::npos);
  file.before = read_conditions(Device::cpu());
  file.before->clock_mhz = 12345;
  const nlohmann::json read = nlohmann::json::parse(file.to_json()).at("conditions");
  EXPECT_EQ(read.at("before").at("clock_mhz"), 12345);
  EXPECT_NE(read.at("after").at("clock_mhz"), 12345) << "not read again";
}

}  // namespace
}  // namespace lenslet
