// main() of every test program. GoogleTest returns success if all tests were skipped or there are none. Here the first
// is reported to ctest as skipped (exit code 77), the second as a failure, so that nothing passes without running. Each
// run has its own testing::TempDir(), so that no two share a file.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;  // SKIP_RETURN_CODE in tests/CMakeLists.txt
  ::testing::InitGoogleTest(&argc, argv);
  std::string folder = (std::filesystem::temp_directory_path() / "lenslet-test-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr) {
    std::fprintf(stderr, "%s cannot be made: %s\n", folder.c_str(), std::strerror(errno));
    return 1;
  }
  ::setenv("TEST_TMPDIR", (folder + "/").c_str(), 1);
  const int status = RUN_ALL_TESTS();
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  if (status != 0 || ::testing::GTEST_FLAG(list_tests)) return status;
  const ::testing::UnitTest& unit = *::testing::UnitTest::GetInstance();
  if (unit.successful_test_count() > 0) return 0;
  if (unit.skipped_test_count() > 0) return kSkipped;
  std::fprintf(stderr, "no test was run: does the filter match anything?\n");
  return 1;
}
