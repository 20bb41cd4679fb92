lenslet_test(reference SOURCES reference/reference_test.cpp reference/guarded_run_test.cpp DEPENDS lenslet_reference)
