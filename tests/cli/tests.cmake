if(LENSLET_BUILD_APPS)
  find_package(nlohmann_json REQUIRED)
  find_package(ZLIB REQUIRED)
  lenslet_test(cli
    SOURCES cli/bad_input_test.cpp cli/happy_paths_test.cpp cli/streams_test.cpp cli/fixture_files.cpp support/subprocess.cpp
    DEPENDS lenslet_framework nlohmann_json::nlohmann_json ZLIB::ZLIB)
  target_compile_definitions(test_cli PRIVATE "LENSLET_PROGRAM=\"$<TARGET_FILE:lenslet_app>\"")
  add_dependencies(test_cli lenslet_app)
  lenslet_test(apps_common SOURCES cli/apps_common_test.cpp DEPENDS lenslet_apps_common nlohmann_json::nlohmann_json)
endif()
