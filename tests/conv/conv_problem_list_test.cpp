// Problem lists: benchdnn's forms, what its options do here, and every malformed line in one message.
#include "layers/conv/conv_problem_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "framework/base/error.h"
#include "framework/base/text.h"
#include "tests/support/expect_error.h"

namespace lenslet {
namespace {

class ProblemList : public testing::Test {
 protected:
  std::string write(const std::string& text) {
    path_ = testing::TempDir() + "lenslet_problem_list.txt";
    std::ofstream(path_) << text;
    return path_;
  }
  void TearDown() override { std::remove(path_.c_str()); }
  std::string path_;
};

std::vector<std::string> texts(const std::vector<ListedProblem>& problems) {
  std::vector<std::string> texts;
  for (const ListedProblem& one : problems)
    texts.push_back(one.unsupported.empty() ? one.text : one.text + " -> " + one.unsupported);
  return texts;
}

std::vector<ListedProblem> parse(const std::string& text) {
  return parse_problem_list(
      text, "list", [](const std::string& path) -> std::string { throw DataError("cannot open " + path); });
}

std::string fault(const std::string& text) {
  return message_of<DataError>([&] { parse(text); });
}

TEST_F(ProblemList, SkipsCommentsAndBlankLines) {
  const auto problems = read_problem_list(write("# heading\n\n  ic1ih28oc6kh5  # conv1\r\nic6ih12oc16kh5"));
  ASSERT_EQ(problems.size(), 2u);
  EXPECT_EQ(problems[1].problem.c, 6);
}

TEST_F(ProblemList, NamesFileAndLine) {
  expect_error<DataError>([&] { read_problem_list(write("ic1ih28oc6kh5\nic1ih28oc6kh55\n")); },
                          concat(testing::TempDir(), "lenslet_problem_list.txt:2: "));
}

TEST_F(ProblemList, RefusesAMissingFile) {
  EXPECT_THROW(read_problem_list("/nonexistent/list.txt"), DataError);
  EXPECT_THROW(read_problem_list("/dev/zero"), DataError);
  EXPECT_THROW(read_problem_list(testing::TempDir()), DataError);
  std::string many;
  for (int i = 0; i <= 10'000; ++i) many += "ic1ih5oc1kh3\n";
  expect_error<DataError>([&] { read_problem_list(write(many)); },
                          ":10001: a list has at most 10000 problems");
  expect_error<DataError>([&] { read_problem_list(write(std::string(2 << 20, '#'))); },
                          "at most 1048576 bytes");
  expect_error<DataError>([&] { read_problem_list(write("\n" + std::string(100'000, 'x'))); }, "xx…xx");
}

TEST(ProblemListText, NamesEveryMalformedLine) {
  const std::string two = fault("ic1ih28oc6kh55\nic1ih28oc6kh5\nhello ic1ih9oc1kh3\n--mb=x\n");
  for (const char* part : {"list:1: problem 'ic1ih28oc6kh55': the filter does not fit",
                           "line 3: problem 'hello'", "line 4: --mb must be"})
    EXPECT_NE(two.find(part), std::string::npos) << two;
  EXPECT_EQ(two.find("line 2"), std::string::npos) << two;
  // The first lines get a reason, the next their number, the others are counted.
  std::string text = "ic1ih28oc6kh5\n";
  for (int i = 0; i < 60; ++i) text += concat("bad", i, "\n");
  const std::string sixty = fault(text);
  EXPECT_NE(sixty.find("list:2: problem 'bad0'"), std::string::npos) << sixty;
  EXPECT_NE(sixty.find("; also malformed: line 7, line 8, "), std::string::npos) << sixty;
  EXPECT_NE(sixty.find(", line 61"), std::string::npos) << sixty;
  // A line is named once, whatever it has.
  text.clear();
  for (int i = 1; i <= 6; ++i) text += concat("bad", i, " ");
  const std::string one_line = fault(text + "worse\nbad worst\nbad");
  const std::string rest = "; also malformed: line 2, line 3";
  EXPECT_EQ(one_line.find(rest), one_line.size() - rest.size()) << one_line;
  EXPECT_EQ(fault(text).find("also malformed"), std::string::npos) << fault(text);
  for (const std::string& line : {std::string("x"), std::string(300, 'x'), std::string("ic1ih28oc6kh5n\"")}) {
    text.clear();
    for (int i = 0; i < 3000; ++i) text += line + "\n";
    const std::string many = fault(text);
    EXPECT_LT(many.size(), kMaxLineBytes);
    EXPECT_NE(many.find(" or more others"), std::string::npos) << many;
    EXPECT_EQ(many.find('\n'), std::string::npos);
  }
}

TEST(ProblemListText, RefusesWhatANamedFileCannotGive) {
  EXPECT_NE(fault("--batch=none.txt").find("list:1: --batch: cannot open none.txt"), std::string::npos);
  EXPECT_NE(fault("--batch=").find("--batch needs a file"), std::string::npos);
  for (const char* text : {"--mb=", "--mb=-1", "--mb=2x", "--mb", "--mb=2147483648"})
    EXPECT_NE(fault(std::string(text) + " ic1ih9oc1kh3").find("--mb must be a list of integers"),
              std::string::npos)
        << text;
  EXPECT_NE(fault("--mb=2147483647 ic1ih9oc1kh3").find("2^31"), std::string::npos);
  // A list that names itself has one fault, and one that it names does not read it again.
  const auto named = [](const std::string& text, const std::string& other) {
    try {
      parse_problem_list(text, "self",
                         [&](const std::string& file) { return file == "self" ? text : other; });
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(named("hello\n--batch=self", ""),
            "self:1: problem 'hello': 'hello' is none of g mb ic id ih iw oc od oh ow kd kh kw sd sh sw pd "
            "ph pw dd dh "
            "dw n; line 2: --batch: self names itself");
  EXPECT_EQ(named("--batch=other", "--batch=self"),
            "self: other:1: --batch: self names this list, and this list names it");
  EXPECT_EQ(named("--batch=other --batch=other", "ic1ih9oc1kh3"), "") << "twice is no circle";
  int files = 0;
  const auto another = [&](const std::string&) { return concat("--batch=list", ++files); };
  expect_error<DataError>([&] { parse_problem_list("--batch=list", "self", another); },
                          "at most 64 files by --batch");
}

TEST(ProblemListText, OptionsHoldUntilTheyAreReplaced) {
  const std::string p = "mb1ic1ih9oc1oh7kh3";
  EXPECT_EQ(texts(parse("--dir=BWD_D ic1ih9oc1kh3 --dir=FWD_I ic1ih9oc1kh3")),
            (std::vector<std::string>{"--dir=BWD_D " + p + " -> Lenslet does not measure --dir=BWD_D", p}));
  EXPECT_EQ(texts(parse("--dt=u8 --dir=BWD_D ic1ih9oc1kh3\n--reset ic1ih9oc1kh3")),
            (std::vector<std::string>{
                "--dir=BWD_D --dt=u8 " + p + " -> Lenslet does not measure --dir=BWD_D --dt=u8", p}));
  EXPECT_EQ(texts(parse("-v5 --mode=P ic1ih9oc1kh3")), std::vector<std::string>{p});
  // An unknown option may change what is computed.
  EXPECT_EQ(texts(parse("--invented ic1ih9oc1kh3")),
            std::vector<std::string>{"--invented " + p + " -> Lenslet does not measure --invented"});
}

TEST(ProblemListText, IgnoresWhatConcernsBenchdnnsMeasurement) {
  const std::vector<std::string> p = {"mb1ic1ih9oc1oh7kh3"};
  for (const char* option : {"--allow-enum-tags-only=true",
                             "--attr-same-pd-check=true",
                             "--canonical=false",
                             "--check-ref-impl=true",
                             "--cold-cache=all",
                             "--cpu-isa-hints=prefer_ymm",
                             "--execution-mode=graph",
                             "--fast-ref=false",
                             "--fast-ref-gpu=false",
                             "--fix-times-per-prb=7",
                             "--match=.*ic1.*",
                             "--max-ms-per-prb=1e3",
                             "--memory-kind=usm",
                             "--mode=F",
                             "--mode-modifier=P",
                             "--num-streams=2",
                             "--perf-template=def",
                             "--repeats-per-prb=3",
                             "--skip-impl=ref",
                             "--start=2",
                             "--summary=no-failures",
                             "--attr-acc-mode=strict",
                             "--attr-acc-mode=relaxed,strict",
                             "--attr-fpmath=strict,bf16",
                             "--attr-deterministic=false,true"})
    EXPECT_EQ(texts(parse(concat(option, " ic1ih9oc1kh3"))), p) << option;
  for (const char* option : {"--attr-acc-mode=f16", "--attr-fpmath=bf16", "--attr-deterministic=true"})
    EXPECT_EQ(parse(concat(option, " ic1ih9oc1kh3"))[0].unsupported,
              concat("Lenslet does not measure ", option));
}

TEST(ProblemListText, SkipsAByteOrderMark) {
  EXPECT_EQ(texts(parse("\xef\xbb\xbfic1ih9oc1kh3")), std::vector<std::string>{"mb1ic1ih9oc1oh7kh3"});
  EXPECT_NE(fault("ic1ih9oc1kh3\n\xef\xbb\xbfic1ih9oc1kh3").find("list:2: "), std::string::npos);
}

// A type holds for the problems after it; of a list of types each that Lenslet has is measured.
TEST(ProblemListText, ObeysTheTypesOfTensors) {
  const auto types = [](const std::string& text) {
    std::string found;
    for (const ListedProblem& one : parse(text)) {
      EXPECT_EQ(one.unsupported, "") << text;
      found += concat(found.empty() ? "" : " ", one.has_type ? one.problem.type.name() : "none");
    }
    return found;
  };
  const std::string p = " ic1ih9oc1kh3";
  EXPECT_EQ(types(p), "none");
  EXPECT_EQ(types("--dt=f16" + p + p), "fp16 fp16");
  EXPECT_EQ(types("--dt=bf16:bf16:bf16" + p + " --dt=f32" + p + " --reset" + p), "bf16 fp32 none");
  EXPECT_EQ(types("--dt=F16,s8,f32" + p), "fp16 fp32");
  EXPECT_EQ(types("--dt=f16 --mb=2,3" + p), "fp16 fp16");
  EXPECT_EQ(types("--dt=s8 --dt=f16" + p), "fp16") << "replaced";
  EXPECT_EQ(types("--dt=" + p), "none") << "the default";
  for (const char* refused : {"--dt=s8", "--dt=f16:f16:f32", "--dt=f16:f16", "--dt=f64"}) {
    const auto problems = parse(concat("--dt=bf16 ", refused, p));
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].unsupported, concat("Lenslet does not measure ", refused));
  }
}

// A list of a megabyte must not become gigabytes: ten thousand problems may repeat what stands in it once.
TEST(ProblemListText, BoundsWhatEveryProblemRepeats) {
  std::string options;
  for (int i = 0; i < 5000; ++i) options += concat("--option", i, "=", std::string(90, 'x'), " ");
  const auto refused = parse(options + "ic1ih9oc1kh3 ic2ih9oc1kh3");
  ASSERT_EQ(refused.size(), 2u);
  for (const ListedProblem& one : refused) {
    EXPECT_LT(one.text.size(), 1000u);
    EXPECT_LT(one.unsupported.size(), 1000u);
    EXPECT_NE(one.unsupported.find(" and 4992 others"), std::string::npos) << one.unsupported;
  }
  EXPECT_EQ(parse("ic1ih9oc1kh3n\"" + std::string(1000, 'x') + "\"").size(), 1u);
  for (const std::string& name : {"\"" + std::string(1001, 'x') + "\"", std::string(1001, 'x')})
    EXPECT_NE(fault("ic1ih9oc1kh3n" + name).find("has 1001 bytes, expected at most 1000"), std::string::npos);
  EXPECT_NE(fault("ic1ih9oc1kh3n\"" + std::string(251, '\x1b') + "\"").find("has 1004 bytes"),
            std::string::npos)
      << "bytes as printed";
}

TEST(ProblemLists, InBenchdnnsForm) {
  const auto problems = read_problem_list(LENSLET_SOURCE_DIR "/tests/conv/benchdnn_form.txt");
  EXPECT_EQ(problems.size(), 42u);
  std::map<std::string, std::string> by_name;
  int supported = 0;
  for (const ListedProblem& one : problems) {
    const std::string name = one.text.substr(std::min(one.text.find("n\""), one.text.size()));
    by_name[name] = one.unsupported.empty() ? one.text : one.unsupported;
    if (one.unsupported.empty()) {
      ++supported;
      EXPECT_EQ(Conv2dProblem::parse(one.text), one.problem) << one.text;
    }
  }
  EXPECT_EQ(supported, 35);
  const std::map<std::string, std::string> expected = {
      {"n\"spaces and #, / : * ( ) are part of it\"", "mb1ic2ih6oc2oh4kh3"},
      {"n\"1d\"", "g2mb1ic4ih1iw9oc4oh1ow5kh1kw3sh1sw2ph0pw1"},
      {"n\"asymmetric:stride\"", "mb1ic3ih30oc4oh15ow15kh3sh2ph0pw0"},
      {"n\"3d:flat\"", "mb1ic3ih8oc4oh6kh3"},
      {"n\"also four\"", "mb4ic2ih7oc3oh5kh3"},
      {"n\"from the other file\"", "mb2ic3ih5oc2oh3kh3"},
  };
  for (const auto& [name, text] : expected) EXPECT_EQ(by_name[name], text + name);
  EXPECT_NE(by_name["n\"3d:cube\""].find("3-D"), std::string::npos);
  EXPECT_EQ(by_name["n\"backward\""], "Lenslet does not measure --dir=BWD_W");
  EXPECT_EQ(by_name["n\"int8\""], "Lenslet does not measure --dt=s8:s8:f32");
  EXPECT_EQ(by_name["n\"scaled\""], "Lenslet does not measure --attr-scales=src:common:2");
}

TEST(ProblemLists, OfTheTreeAreCanonicalOrParse) {
  const std::string folder = std::string(LENSLET_SOURCE_DIR) + "/layers/conv/problems";
  for (const auto& list : std::filesystem::directory_iterator(folder)) {
    for (const Conv2dProblem& p : listed_problems(folder, list.path().stem().string())) {
      EXPECT_EQ(Conv2dProblem::parse(p.to_string()), p) << p.to_string();
    }
  }
}

}  // namespace
}  // namespace lenslet
