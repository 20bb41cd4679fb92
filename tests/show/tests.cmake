if(LENSLET_BUILD_APPS)
  lenslet_test(show_page SOURCES show/encode_test.cpp DEPENDS lenslet_page)
  lenslet_python_test(show "${CMAKE_CURRENT_LIST_DIR}/show_test.py" "$<TARGET_FILE:lenslet_app>" "${PROJECT_SOURCE_DIR}")
endif()
