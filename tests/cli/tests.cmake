if(LENSLET_BUILD_APPS)
  # The folder of valid and invalid files, and the programs that run in it.
  add_library(lenslet_cli_fixtures STATIC cli/fixtures/files.cpp cli/fixtures/bench_files.cpp cli/fixtures/data_sets.cpp
              cli/fixtures/models.cpp cli/fixtures/pictures.cpp cli/fixtures/weights.cpp)
  target_link_libraries(lenslet_cli_fixtures PRIVATE lenslet_own_flags PUBLIC lenslet_test_programs)
  lenslet_compile_test(lenslet_cli_fixtures)
  target_compile_definitions(lenslet_cli_fixtures PRIVATE LENSLET_SOURCE_DIR="${LENSLET_TEST_SOURCE_DIR}"
    LENSLET_STUB_DRIVER="${CUDAToolkit_LIBRARY_DIR}/stubs/libcuda.so")
  # LENSLET_TEST_PREFIX in the environment runs the same rows with the programs of an installation.
  lenslet_test(bad_input
    SOURCES cli/bad_input/bad_input_test.cpp cli/bad_input/host_test.cpp cli/bad_input/flags_test.cpp
            cli/bad_input/data_test.cpp cli/bad_input/weights_test.cpp cli/bad_input/models_test.cpp
            cli/bad_input/pictures_test.cpp cli/bad_input/devices_test.cpp cli/bad_input/outputs_test.cpp
            cli/bad_input/convbench_test.cpp
    DEPENDS lenslet_framework lenslet_cli_fixtures)
  add_library(lenslet_test_denied_stat MODULE cli/bad_input/denied_stat.cpp)
  target_link_libraries(lenslet_test_denied_stat PRIVATE lenslet_options ${CMAKE_DL_LIBS})
  target_compile_definitions(test_bad_input PRIVATE "LENSLET_DENIED_STAT=\"$<TARGET_FILE:lenslet_test_denied_stat>\"")
  add_dependencies(test_bad_input lenslet_test_denied_stat)
  if(LENSLET_INSTALL AND NOT LENSLET_SANITIZE)
    set(prefix "${PROJECT_BINARY_DIR}/tests/prefix")
    add_test(NAME bad_input_install COMMAND "${CMAKE_COMMAND}" --install "${PROJECT_BINARY_DIR}" --prefix "${prefix}")
    # What an installation may lack or find elsewhere: files, modules, scripts. Outputs, memory and studies are the
    # same. Of Host, whose subject is the system, the cases that open modules or run the report's script.
    add_test(NAME bad_input_installed COMMAND test_bad_input
             --gtest_filter=*BadInputTest.*:Host.ModulesAre*:Host.TheReportsScript*:Host.AReportOf*-Outputs/*:Convbench/*:Studies/*:Filters/*)
    set_tests_properties(bad_input_install PROPERTIES FIXTURES_SETUP bad_input_prefix)
    set_tests_properties(bad_input_installed PROPERTIES FIXTURES_REQUIRED bad_input_prefix SKIP_RETURN_CODE 77
      ENVIRONMENT "LENSLET_TEST_PREFIX=${prefix}")
  endif()
  add_library(lenslet_test_signal_at MODULE cli/signal_at.cpp)
  target_link_libraries(lenslet_test_signal_at PRIVATE lenslet_options ${CMAKE_DL_LIBS})
  lenslet_test(interruption SOURCES cli/signals_test.cpp cli/concurrency_test.cpp
    DEPENDS lenslet_framework lenslet_cli_fixtures)
  target_compile_definitions(test_interruption PRIVATE "LENSLET_SIGNAL_AT=\"$<TARGET_FILE:lenslet_test_signal_at>\"")
  add_dependencies(test_interruption lenslet_test_signal_at)
  lenslet_test(cli
    SOURCES cli/happy_paths_test.cpp cli/bench_test.cpp cli/classify_test.cpp cli/eval_samples_test.cpp cli/eval_test.cpp
            cli/inspect_test.cpp cli/keras_test.cpp cli/picture_network_test.cpp cli/plan_test.cpp
            cli/saturated_test.cpp cli/streaming_test.cpp cli/tune_test.cpp
    DEPENDS lenslet_framework lenslet_cli_fixtures)
  lenslet_test(diff SOURCES cli/diff_test.cpp SHARED models/onnx/evaluate.cpp models/onnx/evaluate_functions.cpp
               DEPENDS lenslet_models lenslet_cli_fixtures ZLIB::ZLIB)
  lenslet_test(tables SOURCES cli/tables_test.cpp DEPENDS lenslet_framework lenslet_cli_fixtures)
  target_compile_definitions(test_tables PRIVATE LENSLET_SOURCE_DIR="${LENSLET_TEST_SOURCE_DIR}")
  if(TARGET DNNL::dnnl)  # only then a row opens the module
    add_library(lenslet_test_faulty_backend MODULE cli/faulty_backend.cpp)
    target_link_libraries(lenslet_test_faulty_backend PRIVATE lenslet_options lenslet_own_flags lenslet_conv)
    set_target_properties(lenslet_test_faulty_backend PROPERTIES PREFIX "" OUTPUT_NAME lenslet_conv_cpu_onednn
      LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests/faulty")
  endif()
  lenslet_test(cli_gpu SOURCES cli/bench_gpu_test.cpp cli/streaming_gpu_test.cpp cli/tune_gpu_test.cpp
    DEPENDS lenslet_framework lenslet_cli_fixtures GPU ALONE)
endif()

lenslet_test_reads(bad_input_install cmake packaging)
