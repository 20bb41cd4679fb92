if(LENSLET_BUILD_APPS)
  lenslet_test(filter SOURCES filter/filter_test.cpp filter/filter_cli_test.cpp support/subprocess.cpp
               DEPENDS lenslet_bench nlohmann_json::nlohmann_json)
  target_compile_definitions(test_filter PRIVATE "LENSLET_CONVBENCH=\"$<TARGET_FILE:lenslet_convbench>\"")
  add_dependencies(test_filter lenslet_convbench)
endif()
