if(LENSLET_BUILD_APPS)
  lenslet_test(measuring SOURCES measuring/parts_test.cpp DEPENDS lenslet_measuring)
  lenslet_test(ceilings_gpu SOURCES measuring/ceilings_gpu_test.cpp DEPENDS lenslet_apps_common GPU)
endif()
