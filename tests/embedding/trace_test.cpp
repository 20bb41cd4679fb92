// LENSLET_TRACE in a host of the C library. The library reads it once per process, so each case runs in a child whose
// parent never calls the library.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <lenslet.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

#include "tests/embedding/c_options.h"
#include "tests/support/in_child.h"

namespace {

using lenslet::test::options_on_cpu;

struct Seen {
  lenslet_status status = LENSLET_OK;  // of making the model
  std::string error, trace;            // lenslet_last_error(), standard error
};

/// Creates a model and classifies a picture in a child with that LENSLET_TRACE (null: unset).
Seen classify(const char* setting, const char* plan, const char* backend) {
  char path[] = "/tmp/lenslet_trace_XXXXXX";
  const int file = ::mkstemp(path);
  EXPECT_GE(file, 0);
  ::unlink(path);
  int error_pipe[2];
  EXPECT_EQ(::pipe(error_pipe), 0);
  const int ended = lenslet::test::in_child([&] {
    ::dup2(file, STDERR_FILENO);
    if (setting) {
      ::setenv("LENSLET_TRACE", setting, 1);
    } else {
      ::unsetenv("LENSLET_TRACE");
    }
    const lenslet_options options = options_on_cpu(plan, backend);
    lenslet_model* model = nullptr;
    lenslet_status status = lenslet_model_built_in(&options, &model);
    const uint8_t pixels[LENSLET_PIXELS] = {};
    lenslet_prediction answer;
    if (status == LENSLET_OK) status = lenslet_predict_u8(model, pixels, 1, &answer);
    const std::string text = lenslet_last_error();
    const bool written =
        ::write(error_pipe[1], text.data(), text.size()) == static_cast<ssize_t>(text.size());
    lenslet_model_destroy(model);
    return written ? static_cast<int>(status) : 99;
  });
  ::close(error_pipe[1]);
  Seen seen;
  char buffer[4096];
  for (ssize_t got; (got = ::read(error_pipe[0], buffer, sizeof buffer)) > 0;)
    seen.error.append(buffer, static_cast<size_t>(got));
  ::close(error_pipe[0]);
  EXPECT_TRUE(WIFEXITED(ended)) << ended;
  seen.status = static_cast<lenslet_status>(WEXITSTATUS(ended));
  ::lseek(file, 0, SEEK_SET);
  for (ssize_t got; (got = ::read(file, buffer, sizeof buffer)) > 0;)
    seen.trace.append(buffer, static_cast<size_t>(got));
  ::close(file);
  return seen;
}

void expect_choices(const Seen& seen, const std::set<std::string>& choices) {
  EXPECT_EQ(seen.status, LENSLET_OK) << seen.error;
  std::set<std::string> left = choices;
  std::istringstream lines(seen.trace);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(line.rfind("lenslet trace: ", 0), 0u) << line;
    for (auto choice = left.begin(); choice != left.end();)
      choice = line.find(*choice) == std::string::npos ? std::next(choice) : left.erase(choice);
  }
  for (const std::string& choice : left) ADD_FAILURE() << "no '" << choice << "' in\n" << seen.trace;
}

TEST(Trace, NamesDevicePlanBackendsAndAlgorithmsOfALayeredPlan) {
  expect_choices(
      classify("1", "layered", "conv1=im2col_gemm"),
      {"device: cpu for 'cpu': requested", "plan: layered: lenet5, batch 1, fp32 in, fp32 out, on cpu",
       "backend: conv1+relu1: im2col_gemm, fp32, requested",
       "backend: conv2+relu2+pool2: direct, fp32, the first that supports it",
       "algorithm: conv1: im2col_gemm (", "algorithm: conv2: direct (", "0 bytes of workspace",
       "library: "});  // of the matrix product, or why it is unavailable
}

TEST(Trace, NamesTheBackendOfAFusedPlan) {
  expect_choices(classify("1", "fused", ""),
                 {"plan: fused: lenet5, batch 1, uint8 in, prediction out, on cpu",
                  "backend: lenet5: simd, fp32, the first that supports it", "algorithm: lenet5: simd"});
}

TEST(Trace, PrintsNothingByDefault) {
  for (const char* setting : {static_cast<const char*>(nullptr), "0"}) {
    const Seen seen = classify(setting, "layered", "");
    EXPECT_EQ(seen.status, LENSLET_OK) << seen.error;
    EXPECT_EQ(seen.trace, "");
  }
}

TEST(Trace, IsZeroOrOne) {
  for (const char* setting : {"", "2", "yes", "1 "}) {
    const Seen seen = classify(setting, "auto", "");
    EXPECT_EQ(seen.status, LENSLET_ERROR_USAGE) << setting;
    EXPECT_EQ(seen.error, std::string("LENSLET_TRACE must be 0 or 1, found '") + setting + "'");
    EXPECT_EQ(seen.trace, "");
  }
}

}  // namespace
