# The list of planted faults stands in the tree as it is, and the script that judges them; ./dev mutate runs the list.
find_program(LENSLET_PYTHON python3)
mark_as_advanced(LENSLET_PYTHON)
if(LENSLET_PYTHON)
  add_test(NAME tree_planted_faults COMMAND "${LENSLET_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/mutate.py" check "${PROJECT_SOURCE_DIR}")
  add_test(NAME mutate_script COMMAND "${LENSLET_PYTHON}" "${CMAKE_CURRENT_LIST_DIR}/mutate_test.py")
  set_tests_properties(tree_planted_faults mutate_script PROPERTIES LABELS tree)
endif()
