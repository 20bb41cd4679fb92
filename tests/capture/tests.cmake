# run() of every backend: captured as a CUDA graph, and on the CPU with allocations counted. The subjects are those of
# the tests of determinism.
set(capture_support determinism/promise.cpp determinism/subjects.cpp support/planted_faults.cpp)
set(capture_targets lenslet_models lenslet_subjects)
lenslet_test(capture_gpu SOURCES capture/capture_test.cpp SHARED ${capture_support} DEPENDS ${capture_targets} GPU ALONE)
lenslet_test(allocations_cpu SOURCES capture/allocations_test.cpp support/allocation_counter.cpp
             SHARED ${capture_support} DEPENDS ${capture_targets})
# Without oneDNN, which may allocate.
set_tests_properties(allocations_cpu PROPERTIES ENVIRONMENT "LENSLET_MODULE_PATH=${PROJECT_BINARY_DIR}/no_modules")
get_property(capture_modules GLOBAL PROPERTY LENSLET_MODULES)
if(capture_modules)
  list(TRANSFORM capture_modules PREPEND lenslet_module_)
  add_dependencies(test_capture_gpu ${capture_modules})
endif()
