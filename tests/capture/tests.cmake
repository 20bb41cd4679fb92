# run() of every backend as a CUDA graph; the subjects are those of the tests of determinism.
lenslet_test(capture_gpu SOURCES capture/capture_test.cpp determinism/promise.cpp determinism/subjects.cpp support/planted_faults.cpp
             DEPENDS lenslet_models lenslet_softmax lenslet_reference GPU)
get_property(capture_modules GLOBAL PROPERTY LENSLET_MODULES)
if(capture_modules)
  list(TRANSFORM capture_modules PREPEND lenslet_module_)
  add_dependencies(test_capture_gpu ${capture_modules})
endif()
