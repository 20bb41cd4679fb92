# Counters of the profiled launch become a row; a failure is named. ncu is a stand-in.
lenslet_python_test(counters "${CMAKE_CURRENT_LIST_DIR}/counters_test.py")
set_tests_properties(counters PROPERTIES LABELS tree)  # independent of the build, like the checks of the tree

lenslet_test_reads(counters apps/counters apps/peers docs/results apps/report)
