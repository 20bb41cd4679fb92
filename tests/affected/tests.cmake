# ./dev test --affected: the tests that a changed file affects.
lenslet_python_test(affected "${CMAKE_CURRENT_LIST_DIR}/affected_test.py" "${PROJECT_BINARY_DIR}")

lenslet_test_reads(affected dev.d/affected.py)
