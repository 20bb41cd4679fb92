// Documents: every value reads back exactly, and a long list needs constant memory.
#include "apps/common/results/document.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/common/output/text.h"
#include "framework/base/text.h"
#include "tests/apps_common/written.h"

namespace lenslet {
namespace {

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

}  // namespace
}  // namespace lenslet
