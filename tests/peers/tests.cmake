# The comparison with other frameworks continues when one of them fails.
lenslet_python_test(peers "${CMAKE_CURRENT_LIST_DIR}/peers_test.py")
set_tests_properties(peers PROPERTIES LABELS tree)  # independent of the build, like the checks of the tree
