// Tables: their columns, notes and colours, and the terminal's width.
#include "apps/common/output/table.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>

namespace lenslet {
namespace {

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

TEST(Table, AKeyThatLeavesNoRoomDropsNoOther) {
  Table table;
  table.column("name")
      .column("wide key", Table::Align::kRight, Table::Use::kKey)
      .column("key", Table::Align::kRight, Table::Use::kKey)
      .column("one")
      .column("two");
  table.row({"x", std::string(19, 'w'), "k", std::string(10, '1'), std::string(15, '2')});
  const std::string text = table.to_string(look_of(40));
  EXPECT_NE(text.find("\nname  key              two\n"), std::string::npos) << text;
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

}  // namespace
}  // namespace lenslet
