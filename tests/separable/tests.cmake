if(LENSLET_BUILD_APPS)
  lenslet_test(separable SOURCES separable/block_test.cpp separable/cli_test.cpp DEPENDS lenslet_bench lenslet_test_programs)
endif()
