// Numbers as text, and text that is safe on a terminal and in CSV.
#include "apps/common/output/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/clause_list.h"
#include "framework/base/joined_numbers.h"

namespace lenslet {
namespace {

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

TEST(ClauseList, HasTheFirstClausesAndCountsTheOthers) {
  ClauseList clauses(2);
  EXPECT_EQ(clauses.text(), "");
  clauses.add("a");
  clauses.add("");
  EXPECT_EQ(clauses.text(), "a");
  clauses.add("b");
  EXPECT_EQ(clauses.text(), "a; b");
  EXPECT_EQ(clauses.left_out(), 0u);
  clauses.add("c");
  clauses.add("d");
  EXPECT_EQ(clauses.text(), "a; b; and 2 more");
  EXPECT_EQ(clauses.left_out(), 2u);
}

TEST(JoinedNumbers, HasTheSeparatorBetweenThem) {
  EXPECT_EQ(joined_numbers(std::vector<int64_t>(), "x"), "");
  EXPECT_EQ(joined_numbers(std::vector<uint64_t>{18446744073709551615u}, "x"), "18446744073709551615");
  EXPECT_EQ(joined_numbers(std::vector<int64_t>{-1, 0, 28}, ", "), "-1, 0, 28");
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

}  // namespace
}  // namespace lenslet
