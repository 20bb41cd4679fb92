# The comparison with other frameworks goes on whatever one of them does.
lenslet_python_test(peers "${CMAKE_CURRENT_LIST_DIR}/peers_test.py")
set_tests_properties(peers PROPERTIES LABELS tree)  # like the checks of the tree it does not depend on the build
