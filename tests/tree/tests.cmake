# The tree: headers, direction of includes, data, text, documents, format, ./dev; and that these checks detect
# violations.

# lenslet_tree_check(<name> <arguments after the root…>): runs tests/tree/check_<name>.sh; exit 77 means skipped.
function(lenslet_tree_check name)
  add_test(NAME tree_${name}
           COMMAND "${LENSLET_BASH}" "${PROJECT_SOURCE_DIR}/tests/tree/check_${name}.sh" "${PROJECT_SOURCE_DIR}" ${ARGN})
  set_tests_properties(tree_${name} PROPERTIES SKIP_RETURN_CODE 77 LABELS tree)
endfunction()

set(cuda_include -)
if(LENSLET_HAS_CUDA)
  list(GET CUDAToolkit_INCLUDE_DIRS 0 cuda_include)
endif()
lenslet_tree_check(includes)
lenslet_tree_check(public_headers)
lenslet_tree_check(headers_alone "${PROJECT_BINARY_DIR}/generated" "${CMAKE_CXX_COMPILER}" "${cuda_include}")
if(LENSLET_HAS_CUDA)
  lenslet_tree_check(architectures "${CMAKE_CUDA_COMPILER}")
else()
  lenslet_skipped_test(tree_architectures "this build has no GPU side")
endif()
lenslet_tree_check(first_build "${PROJECT_BINARY_DIR}/generated")
lenslet_tree_check(data)
lenslet_tree_check(text)
lenslet_tree_check(words)
lenslet_tree_check(environment)
lenslet_tree_check(launches)
lenslet_tree_check(kernels)
lenslet_tree_check(format)
lenslet_tree_check(dev)
lenslet_tree_check(dev_steps)
lenslet_tree_check(results)
set(programs)
if(TARGET lenslet_app)
  set(programs "$<TARGET_FILE:lenslet_app>" "$<TARGET_FILE:lenslet_convbench>")
endif()
lenslet_tree_check(docs ${programs})

foreach(part others dev)
  set(test tree_checks_bite)
  if(part STREQUAL dev)
    set(test tree_dev_bites)
  endif()
  add_test(NAME ${test}
           COMMAND "${LENSLET_BASH}" "${PROJECT_SOURCE_DIR}/tests/tree/self_test.sh" ${part} "${PROJECT_SOURCE_DIR}"
                   "${PROJECT_BINARY_DIR}/generated" "${CMAKE_CXX_COMPILER}" "${CMAKE_CUDA_COMPILER}" ${programs})
  set_tests_properties(${test} PROPERTIES LABELS tree)
endforeach()
