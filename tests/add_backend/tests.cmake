# CMake reports a wrong row when it configures.
add_test(NAME add_backend_row COMMAND "${LENSLET_BASH}" "${CMAKE_CURRENT_LIST_DIR}/row_test.sh" "${PROJECT_SOURCE_DIR}" "${CMAKE_COMMAND}")
# Performs the tutorial in a copy of the tree.
lenslet_python_test(add_backend "${CMAKE_CURRENT_LIST_DIR}/add_backend_test.py" "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
set_tests_properties(add_backend PROPERTIES TIMEOUT 1800)

lenslet_test_reads(add_backend docs/add_a_backend.md layers/conv/CMakeLists.txt cmake dev.d/new_backend.sh dev.d/new_backend tests/cli/tables_test.cpp apps/common/output/glossary.cpp)
