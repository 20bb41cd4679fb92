lenslet_test(reference SOURCES reference/reference_test.cpp DEPENDS lenslet_reference)
