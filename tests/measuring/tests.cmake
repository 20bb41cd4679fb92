if(LENSLET_BUILD_APPS)
  lenslet_test(measuring SOURCES measuring/parts_test.cpp DEPENDS lenslet_measuring)
endif()
