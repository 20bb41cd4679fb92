if(LENSLET_BUILD_APPS)
  lenslet_test(convbench_cli SOURCES convbench/convbench_cli_test.cpp DEPENDS lenslet_framework lenslet_test_programs)
  if(TARGET lenslet_test_faulty_backend)  # of tests/cli, whose tests.cmake comes first
    target_compile_definitions(test_convbench_cli PRIVATE LENSLET_FAULTY_MODULE_DIR="${PROJECT_BINARY_DIR}/tests/faulty")
    add_dependencies(test_convbench_cli lenslet_test_faulty_backend)
  endif()

  lenslet_test(ladder_shapes SOURCES convbench/ladder_shapes_test.cpp DEPENDS lenslet_bench)

  lenslet_test(study_tables SOURCES convbench/study_tables_test.cpp $<TARGET_OBJECTS:lenslet_convbench_studies>
               DEPENDS lenslet_bench)

  # The same sources for both kinds of device.
  set(bad_launch convbench/bad_launch_none.cpp)
  if(LENSLET_HAS_CUDA)
    set(bad_launch convbench/bad_launch.cu)
  endif()
  set(cheats convbench/cheats_test.cpp convbench/streams_cheats_test.cpp ${bad_launch})
  lenslet_test(cheats_cpu SHARED ${cheats} DEPENDS lenslet_bench lenslet_test_on_cpu)
  lenslet_test(cheats_gpu SHARED ${cheats} DEPENDS lenslet_bench lenslet_test_on_gpu GPU ALONE)
endif()
