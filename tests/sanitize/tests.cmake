# The script behind ./dev sanitize, with a stand-in for the tool: like the checks of the tree it does not depend on the build.
find_program(LENSLET_PYTHON python3)
mark_as_advanced(LENSLET_PYTHON)
if(LENSLET_PYTHON)
  add_test(NAME sanitize_script COMMAND "${LENSLET_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/sanitize_test.py")
  set_tests_properties(sanitize_script PROPERTIES LABELS tree)
endif()
