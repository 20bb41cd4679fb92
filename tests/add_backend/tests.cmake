# The tutorial, performed in a copy of the tree.
find_program(LENSLET_PYTHON python3)
mark_as_advanced(LENSLET_PYTHON)
if(LENSLET_PYTHON)
  add_test(NAME add_backend COMMAND "${LENSLET_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/add_backend_test.py"
                                    "${PROJECT_SOURCE_DIR}" "${PROJECT_BINARY_DIR}")
  set_tests_properties(add_backend PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
endif()
