# Tests the script of ./dev sanitize with a stand-in for the tool; independent of the build, like the checks of the
# tree.
lenslet_python_test(sanitize_script "${CMAKE_CURRENT_LIST_DIR}/sanitize_test.py")
set_tests_properties(sanitize_script PROPERTIES LABELS tree)

if(LENSLET_BUILD_APPS AND LENSLET_HAS_CUDA)
  lenslet_test(sanitize_kernels SOURCES sanitize/kernels_test.cpp
               DEPENDS lenslet_conv lenslet_conv_ladder lenslet_bench GPU SHARDS 6)
  lenslet_needs_modules(test_sanitize_kernels)
  # Every test of the GPU suite is in a piece or is left out by name. Programs list their tests without a GPU.
  lenslet_python_test(sanitize_pieces "${CMAKE_CURRENT_LIST_DIR}/sanitize.py" --tests "${PROJECT_BINARY_DIR}/tests" --list)
else()
  lenslet_skipped_test(sanitize_kernels "this build has no GPU side")
  lenslet_skipped_test(sanitize_pieces "this build has no GPU side")
endif()

lenslet_test_reads(sanitize_script docs/results tests/support)
