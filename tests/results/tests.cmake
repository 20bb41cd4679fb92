# The scripts that write and check result files of the tests; independent of the build, like the checks of the tree.
lenslet_python_test(test_results "${CMAKE_CURRENT_LIST_DIR}/test_results_test.py")
lenslet_python_test(command_results "${CMAKE_CURRENT_LIST_DIR}/command_results_test.py")
lenslet_python_test(results_provenance "${CMAKE_CURRENT_LIST_DIR}/provenance_test.py")
set_tests_properties(command_results test_results results_provenance PROPERTIES LABELS tree)

lenslet_test_reads(command_results tests/packaging tests/support)
lenslet_test_reads(results_provenance docs/results)
lenslet_test_reads(test_results tests/support)
