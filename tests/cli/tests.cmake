if(LENSLET_BUILD_APPS)
  find_package(nlohmann_json REQUIRED)
  find_package(ZLIB REQUIRED)
  lenslet_test(cli
    SOURCES cli/bad_input_test.cpp cli/happy_paths_test.cpp cli/image_limit_test.cpp cli/bench_test.cpp cli/plan_test.cpp cli/streams_test.cpp cli/streaming_test.cpp cli/tune_test.cpp cli/fixture_files.cpp support/subprocess.cpp
    DEPENDS lenslet_framework nlohmann_json::nlohmann_json ZLIB::ZLIB)
  target_compile_definitions(test_cli PRIVATE "LENSLET_PROGRAM=\"$<TARGET_FILE:lenslet_app>\"")
  add_dependencies(test_cli lenslet_app)
  if(TARGET DNNL::dnnl)  # only then is there a row that opens the module
    add_library(lenslet_test_faulty_backend MODULE cli/faulty_backend.cpp)
    target_link_libraries(lenslet_test_faulty_backend PRIVATE lenslet_options lenslet_own_flags lenslet_conv)
    set_target_properties(lenslet_test_faulty_backend PROPERTIES PREFIX "" OUTPUT_NAME lenslet_conv_cpu_onednn
      LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/faulty")
    target_sources(test_cli PRIVATE cli/device_fault_test.cpp)
    target_compile_definitions(test_cli PRIVATE LENSLET_FAULTY_MODULE_DIR="${PROJECT_BINARY_DIR}/tests/faulty")
    add_dependencies(test_cli lenslet_test_faulty_backend)
  endif()
  lenslet_test(cli_gpu SOURCES cli/bench_gpu_test.cpp cli/streaming_gpu_test.cpp cli/tune_gpu_test.cpp cli/fixture_files.cpp support/subprocess.cpp
    DEPENDS lenslet_framework nlohmann_json::nlohmann_json ZLIB::ZLIB GPU)
  target_compile_definitions(test_cli_gpu PRIVATE "LENSLET_PROGRAM=\"$<TARGET_FILE:lenslet_app>\"")
  add_dependencies(test_cli_gpu lenslet_app)
  lenslet_test(apps_common SOURCES cli/apps_common_test.cpp DEPENDS lenslet_apps_common nlohmann_json::nlohmann_json)
endif()
