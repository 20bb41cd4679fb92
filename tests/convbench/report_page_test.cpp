// The report's script is found and run without a shell, and its failures become errors of this project. A shell script
// replaces it here.
#include "apps/common/results/report_page.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "framework/base/error.h"
#include "tests/support/expect_error.h"
#include "tests/support/files.h"

namespace lenslet {
namespace {

class ReportPage : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "lenslet-report-page";
    ::mkdir(folder_.c_str(), 0700);
    ::setenv("LENSLET_PYTHON", "/bin/sh", 1);
    ::setenv("LENSLET_REPORT_SCRIPT", (folder_ + "/script").c_str(), 1);
  }
  void TearDown() override {
    for (const char* name : {"/script", "/said"}) ::unlink((folder_ + name).c_str());
    ::rmdir(folder_.c_str());
    ::unsetenv("LENSLET_PYTHON");
    ::unsetenv("LENSLET_REPORT_SCRIPT");
  }
  void script(const std::string& text) { std::ofstream(folder_ + "/script") << text << "\n"; }
  std::string folder_;
};

TEST_F(ReportPage, NamesAreNotReadByAShell) {
  script("for word in \"$@\"; do printf '%s\\n' \"$word\" >>" + folder_ + "/said; done");
  write_report({{"a file.json", "$(reboot)", "-dash"}, {"-old"}, "out; rm.html", "", ""});
  EXPECT_EQ(test::read_text(folder_ + "/said"),
            "--html\nout; rm.html\n--beside=-old\n--\na file.json\n$(reboot)\n-dash\n");
}

TEST_F(ReportPage, StatesWhatItWroteFromWhat) {
  EXPECT_EQ(describe_written({{"a.json"}, {}, "a.html", "", ""}), "a.html written from a.json");
  EXPECT_EQ(
      describe_written({{"a.json", "b.json", "c.json"}, {"old.json"}, "-", "figures", "png"}),
      "the page and figures in figures written from a.json and 2 other files, beside 1 file of another run");
  EXPECT_EQ(describe_written({{"a\n.json"}, {}, "", "figures", "svg"}),
            "figures in figures written from a\\n.json");
}

TEST_F(ReportPage, FailuresKeepTheirKind) {
  const auto run = [] { write_report({{"a.json"}, {}, "out.html", "", ""}); };
  script("echo 'report: matplotlib is not installed' >&2; exit 4");
  expect_error<UnavailableError>(run, "matplotlib is not installed");
  script("echo noise; echo 'report: a.json: not JSON' >&2; exit 3");
  expect_error<DataError>(run, "a.json: not JSON");
  script("echo 'report: cannot write out.html' >&2; exit 7");
  expect_error<OutputError>(run, "cannot write out.html");
  script("echo 'Traceback:' >&2; echo 'ValueError: odd' >&2; exit 1");
  expect_error<OutputError>(run, "ended with 1 and without a page: ValueError: odd");
  script("echo KeyboardInterrupt >&2; exit 130");
  expect_error<InterruptedError>(run, "was interrupted and ended without a page");
  script("kill -9 $$");
  expect_error<OutputError>(run, "ended with 137");
  script("yes | head -c 1000000; echo end >&2; exit 7");
  expect_error<OutputError>(run, "end");
}

TEST_F(ReportPage, NamesWhatIsMissing) {
  const auto run = [] { write_report({{"a.json"}, {}, "out.html", "", ""}); };
  expect_error<UnavailableError>(run, "LENSLET_REPORT_SCRIPT names");
  script("exit 0");
  run();
  ::setenv("LENSLET_PYTHON", "/bin/false", 1);
  expect_error<OutputError>(run, "run by /bin/false, ended with 1 and without a page: no message");
  ::setenv("LENSLET_PYTHON", "/nonexistent/python3", 1);
  expect_error<UnavailableError>(run, "apt-get install python3 python3-matplotlib");
}

TEST_F(ReportPage, FindsTheTreesScript) {
  ::unsetenv("LENSLET_REPORT_SCRIPT");
  ::setenv("LENSLET_PYTHON", "/bin/true", 1);
  write_report({{"a.json"}, {}, "out.html", "", ""});  // throws if there is none
}

}  // namespace
}  // namespace lenslet
