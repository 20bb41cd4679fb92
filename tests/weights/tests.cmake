# What trains the weights: the pictures that the robust ones are trained on.
lenslet_apps_test(training_data "${CMAKE_CURRENT_LIST_DIR}/training_data_test.py")
