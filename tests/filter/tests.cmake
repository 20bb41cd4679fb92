if(LENSLET_BUILD_APPS)
  lenslet_test(filter SOURCES filter/filter_test.cpp filter/filter_cli_test.cpp DEPENDS lenslet_bench lenslet_test_programs)
endif()
