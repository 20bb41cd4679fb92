# The same sources for both kinds of device.
set(lenslet_determinism_tests determinism/determinism_test.cpp determinism/plans_test.cpp determinism/promise.cpp
    determinism/subjects.cpp support/subprocess.cpp)
set(lenslet_determinism_targets lenslet_models lenslet_subjects)

lenslet_test(determinism_cpu SOURCES determinism/planted_test.cpp SHARED ${lenslet_determinism_tests}
             DEPENDS ${lenslet_determinism_targets} lenslet_test_on_cpu)
lenslet_test(determinism_gpu SHARED ${lenslet_determinism_tests}
             DEPENDS ${lenslet_determinism_targets} lenslet_test_on_gpu GPU SHARDS 4)

get_property(lenslet_modules GLOBAL PROPERTY LENSLET_MODULES)
list(TRANSFORM lenslet_modules PREPEND lenslet_module_)
foreach(test determinism_cpu determinism_gpu)
  if(lenslet_modules)
    add_dependencies(test_${test} ${lenslet_modules})
  endif()
endforeach()

# Without oneDNN the products are those of the blocked loop, which promises more.
add_test(NAME determinism_blocked COMMAND test_determinism_cpu "--gtest_filter=*gemm*")
set_tests_properties(determinism_blocked PROPERTIES ENVIRONMENT "LENSLET_MODULE_PATH=${PROJECT_BINARY_DIR}/no_modules")

# ThreadSanitizer is for what threads share. ThreadsChangeNoBit computes the convolutions that keep their bits with
# several threads; the repetitions of PromiseIsKept would take as long as the rest of the program.
if(LENSLET_SANITIZE MATCHES "thread")
  set(repeated direct winograd depthwise)
  list(TRANSFORM repeated PREPEND *PromiseIsKept/conv2d_)
  list(JOIN repeated ":" repeated)
  set_property(TEST determinism_cpu PROPERTY ENVIRONMENT "GTEST_FILTER=-${repeated}")
endif()
