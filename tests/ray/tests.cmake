# The stage of Ray Data on a local cluster.
lenslet_apps_test(ray --package "${CMAKE_CURRENT_LIST_DIR}/cluster_test.py")
set_tests_properties(ray PROPERTIES RUN_SERIAL ON TIMEOUT 1200)
