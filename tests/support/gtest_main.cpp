// main() of every test program. GoogleTest calls a program whose tests were all skipped, or that holds none,
// a success; here the first is told to ctest as skipped (exit 77) and the second is a failure, so that
// nothing passes unrun.
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;  // SKIP_RETURN_CODE in tests/CMakeLists.txt
  ::testing::InitGoogleTest(&argc, argv);
  const int status = RUN_ALL_TESTS();
  if (status != 0 || ::testing::GTEST_FLAG(list_tests)) return status;
  const ::testing::UnitTest& unit = *::testing::UnitTest::GetInstance();
  if (unit.successful_test_count() > 0) return 0;
  if (unit.skipped_test_count() > 0) return kSkipped;
  std::fprintf(stderr, "no test was run: does the filter match anything?\n");
  return 1;
}
