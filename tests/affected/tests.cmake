# ./dev test --affected: which tests a changed file reaches.
lenslet_python_test(affected "${CMAKE_CURRENT_LIST_DIR}/affected_test.py" "${PROJECT_BINARY_DIR}")
