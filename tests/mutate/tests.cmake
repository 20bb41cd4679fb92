# The list of planted faults stands in the tree as it is, and the script that judges them; ./dev mutate runs the list.
lenslet_python_test(tree_planted_faults "${CMAKE_CURRENT_LIST_DIR}/mutate.py" check "${PROJECT_SOURCE_DIR}")
lenslet_python_test(mutate_script "${CMAKE_CURRENT_LIST_DIR}/mutate_test.py")
set_tests_properties(tree_planted_faults mutate_script PROPERTIES LABELS tree)
