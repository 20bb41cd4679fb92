# The list of planted faults matches the tree and the kept verdicts, and so does the script that runs it; ./dev mutate
# runs the list.
lenslet_python_test(tree_planted_faults "${CMAKE_CURRENT_LIST_DIR}/mutate.py" check "${PROJECT_SOURCE_DIR}")
lenslet_python_test(tree_fault_verdicts "${CMAKE_CURRENT_LIST_DIR}/verdicts.py" "${PROJECT_SOURCE_DIR}")
lenslet_python_test(mutate_script "${CMAKE_CURRENT_LIST_DIR}/mutate_test.py")
lenslet_python_test(mutate_verdicts "${CMAKE_CURRENT_LIST_DIR}/kept_verdicts_test.py")
set_tests_properties(tree_planted_faults tree_fault_verdicts mutate_script mutate_verdicts PROPERTIES LABELS tree)
