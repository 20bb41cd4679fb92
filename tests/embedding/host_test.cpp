// The process around the library: it allows too few threads, it forks. Each case runs in a child process, which must
// end by exit(), with the library's destructors, in time.
#include <gtest/gtest.h>
#include <lenslet.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/embedding/c_options.h"
#include "tests/support/in_child.h"
#include "tests/support/logit_tolerances.h"
#include "tests/support/sanitizers.h"

namespace {

using lenslet::test::in_child;
using lenslet::test::kSanitized;

constexpr int64_t kCount = 2000;                   // enough for every thread of the pool
constexpr rlim_t kMoreMemory = rlim_t{512} << 20;  // stacks of some sixty threads

const std::vector<uint8_t>& pixels() {
  static const std::vector<uint8_t> all = [] {
    std::vector<uint8_t> noise(static_cast<size_t>(kCount) * LENSLET_PIXELS);
    uint32_t seed = 7;
    for (uint8_t& pixel : noise) pixel = static_cast<uint8_t>((seed = seed * 1664525u + 1013904223u) >> 24);
    return noise;
  }();
  return all;
}

/// Returns 0, or prints a message to standard error and returns 1.
int expect_status(lenslet_status found, lenslet_status expected, const char* words = "") {
  if (found == expected && std::strstr(lenslet_last_error(), words)) return 0;
  std::fprintf(stderr, "expected %s with '%s', found %s with '%s'\n", lenslet_status_text(expected), words,
               lenslet_status_text(found), lenslet_last_error());
  return 1;
}

lenslet_model* model_on_cpu(const char* plan, const char* backend = "") {
  const lenslet_options options = lenslet::test::options_on_cpu(plan, backend);
  lenslet_model* model = nullptr;
  EXPECT_EQ(lenslet_model_built_in(&options, &model), LENSLET_OK) << lenslet_last_error();
  return model;
}

std::vector<float> logits(lenslet_model* model, int64_t count = kCount) {
  std::vector<float> values(static_cast<size_t>(count) * LENSLET_CLASSES);
  EXPECT_EQ(lenslet_logits_u8(model, pixels().data(), count, values.data()), LENSLET_OK)
      << lenslet_last_error();
  return values;
}

rlim_t address_space() {
  std::ifstream file("/proc/self/statm");
  rlim_t pages = 0;
  file >> pages;
  return pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
}

TEST(Host, ThreadsThatCannotStartAreOutOfMemoryAndFewerServe) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer needs the address space that is limited here";
  const int status = in_child([] {
    lenslet_model* model = model_on_cpu("fused");
    const rlimit limit = {address_space() + kMoreMemory, address_space() + kMoreMemory};
    if (::setrlimit(RLIMIT_AS, &limit) != 0) return 1;
    std::vector<lenslet_prediction> answers(static_cast<size_t>(kCount));
    const auto predict = [&] { return lenslet_predict_u8(model, pixels().data(), kCount, answers.data()); };
    int failures = expect_status(lenslet_set_num_threads(1024), LENSLET_OK);
    for (int call = 0; call < 2; ++call)
      failures += expect_status(predict(), LENSLET_ERROR_MEMORY, " of 1024 could not be started (");
    failures += expect_status(lenslet_set_num_threads(3), LENSLET_OK);
    failures += expect_status(predict(), LENSLET_OK);
    lenslet_model_destroy(model);
    return failures;
  });
  EXPECT_EQ(status, 0);
}

class Fork : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(lenslet_set_num_threads(4), LENSLET_OK); }
};

TEST_F(Fork, AChildThatUsesNoModelExits) {
  lenslet_model* model = model_on_cpu("fused");
  logits(model);  // starts the threads
  EXPECT_EQ(in_child([] { return 0; }), 0);
  lenslet_model_destroy(model);
}

TEST_F(Fork, AChildComputesWithThreadsOfItsOwnAndSoDoesItsChild) {
  for (const auto& [plan, backend] : {std::pair("fused", ""), std::pair("layered", "direct"),
                                      std::pair("layered", "im2col_gemm"), std::pair("layered", "onednn")}) {
    if (std::strcmp(backend, "onednn") == 0 && !LENSLET_TEST_HAS_ONEDNN) continue;
    lenslet_model* model = model_on_cpu(plan, backend);
    // oneDNN's layout is chosen by timing, again in each model.
    const double tolerance = std::strcmp(backend, "onednn") == 0 ? lenslet::test::kLogitTolerance : 0;
    for (const int64_t count : {kCount, int64_t{1}, int64_t{3}}) {
      const std::vector<float> expected = logits(model, count);
      const auto same = [&] {
        const bool parents = logits(model, count) == expected;
        lenslet_model* fresh = model_on_cpu(plan, backend);
        const std::vector<float> found = logits(fresh, count);
        bool own = found.size() == expected.size();
        for (size_t i = 0; own && i < found.size(); ++i) own = std::abs(found[i] - expected[i]) <= tolerance;
        lenslet_model_destroy(fresh);
        return parents && own ? 0 : 1;
      };
      EXPECT_EQ(in_child([&] { return same() + in_child(same); }), 0)
          << plan << " " << backend << " " << count;
      EXPECT_EQ(same(), 0) << plan << " " << backend << " " << count;
    }
    lenslet_model_destroy(model);
  }
}

TEST_F(Fork, AChildComputesWhateverItsParentsThreadsWereDoing) {
  // The child owns the memory of threads that it does not have, which LeakSanitizer reports.
  if (kSanitized) GTEST_SKIP() << "skipped: a sanitizer watches the child";
  lenslet_model* model = model_on_cpu("fused");
  const std::vector<float> expected = logits(model);
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    lenslet_model* own = model_on_cpu("fused");
    while (!stop) logits(own);
    lenslet_model_destroy(own);
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(in_child([&] { return logits(model) == expected ? 0 : 1; }), 0);
  stop = true;
  busy.join();
  lenslet_model_destroy(model);
}

}  // namespace
