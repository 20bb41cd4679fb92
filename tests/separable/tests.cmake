if(LENSLET_BUILD_APPS)
  lenslet_test(separable SOURCES separable/block_test.cpp separable/cli_test.cpp support/subprocess.cpp
               DEPENDS lenslet_bench nlohmann_json::nlohmann_json)
  target_compile_definitions(test_separable PRIVATE "LENSLET_CONVBENCH=\"$<TARGET_FILE:lenslet_convbench>\"")
  add_dependencies(test_separable lenslet_convbench)
endif()
