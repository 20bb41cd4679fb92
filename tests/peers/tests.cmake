# The comparison with other frameworks continues when one of them fails.
lenslet_python_test(peers "${CMAKE_CURRENT_LIST_DIR}/peers_test.py")
lenslet_python_test(peers_serve_load "${CMAKE_CURRENT_LIST_DIR}/serve_load_test.py")
set_tests_properties(peers peers_serve_load PROPERTIES LABELS tree)  # independent of the build, like the checks of the tree

lenslet_test_reads(peers apps/peers api weights)
lenslet_test_reads(peers_serve_load apps/peers docs/results apps/report)
