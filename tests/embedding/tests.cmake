# Interfaces for other programs: the C++ Model, the C interface, the installation.
enable_language(C)

lenslet_test(embedding_model SOURCES embedding/model_test.cpp embedding/passes_test.cpp embedding/feed_test.cpp
  embedding/network_test.cpp support/allocation_counter.cpp
  SHARED models/onnx/evaluate.cpp models/onnx/evaluate_functions.cpp DEPENDS lenslet_api)
lenslet_test(embedding_gpu SOURCES embedding/model_gpu_test.cpp embedding/device_gpu_test.cpp support/allocation_counter.cpp
  DEPENDS lenslet_api lenslet_reference GPU ALONE)
lenslet_test(embedding_threads SOURCES embedding/threads_test.cpp DEPENDS lenslet_api)
lenslet_test(embedding_host SOURCES embedding/host_test.cpp DEPENDS lenslet_shared)
set(has_onednn 0)
if(TARGET lenslet_module_conv_cpu_onednn)
  set(has_onednn 1)
  add_dependencies(test_embedding_host lenslet_module_conv_cpu_onednn lenslet_module_gemm_cpu_onednn)
endif()
target_compile_definitions(test_embedding_host PRIVATE LENSLET_TEST_HAS_ONEDNN=${has_onednn})
lenslet_test(embedding_trace SOURCES embedding/trace_test.cpp DEPENDS lenslet_shared)
lenslet_test(embedding_out_of_memory SOURCES embedding/out_of_memory_test.cpp DEPENDS lenslet_shared)

add_executable(test_embedding_errors embedding/errors_test.c embedding/abi_test.c embedding/images_test.c
               embedding/reading_test.c)
target_link_libraries(test_embedding_errors PRIVATE lenslet_shared)
target_compile_options(test_embedding_errors PRIVATE -Wall -Wextra -pedantic $<$<BOOL:${LENSLET_WERROR}>:-Werror>)
target_compile_definitions(test_embedding_errors PRIVATE
  LENSLET_HEADER="${PROJECT_SOURCE_DIR}/api/lenslet.h" LENSLET_SAMPLE="${PROJECT_SOURCE_DIR}/samples/digit_4_a.png"
  LENSLET_WEIGHTS="${PROJECT_SOURCE_DIR}/weights/lenet5.safetensors"
  LENSLET_NETWORK="${PROJECT_SOURCE_DIR}/tests/models/onnx/mean_pool.onnx" LENSLET_EXPECTED_VERSION="${PROJECT_VERSION}")
set_target_properties(test_embedding_errors PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/tests" C_STANDARD 90
                      C_EXTENSIONS OFF)
if(LENSLET_SANITIZE)
  target_compile_options(test_embedding_errors PRIVATE ${lenslet_sanitize_flags})
  target_link_options(test_embedding_errors PRIVATE ${lenslet_sanitize_flags})
endif()
add_test(NAME embedding_errors COMMAND test_embedding_errors)

# A sanitizer's runtime exports symbols of its own, and hosts are not built with it.
if(LENSLET_INSTALL AND NOT LENSLET_SANITIZE)
  add_test(NAME embedding_exports COMMAND "${LENSLET_BASH}" "${CMAKE_CURRENT_LIST_DIR}/exports_test.sh"
           "$<TARGET_LINKER_FILE:lenslet_shared>" "${PROJECT_SOURCE_DIR}/api/lenslet.h" "$<TARGET_SONAME_FILE_NAME:lenslet_shared>")
  add_test(NAME embedding_consumers COMMAND "${LENSLET_BASH}" "${CMAKE_CURRENT_LIST_DIR}/consumers_test.sh"
           "${PROJECT_BINARY_DIR}" "${PROJECT_SOURCE_DIR}" "${CMAKE_COMMAND}" "${CMAKE_C_COMPILER}" "${CMAKE_CXX_COMPILER}"
           "${CMAKE_INSTALL_LIBDIR}")
  set_tests_properties(embedding_consumers PROPERTIES SKIP_RETURN_CODE 77)
  # Unoptimised and without debug information, to build quickly; the consumers above link the GPU side, which takes
  # minutes.
  set(options -DLENSLET_CUDA=OFF -DCMAKE_CXX_FLAGS_DEBUG=-O0)
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    list(APPEND options "-DCMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
  add_test(NAME embedding_subdirectory COMMAND "${LENSLET_BASH}" "${CMAKE_CURRENT_LIST_DIR}/subdirectory_test.sh"
           "${PROJECT_SOURCE_DIR}" "${CMAKE_COMMAND}" "${CMAKE_C_COMPILER}" "${CMAKE_CXX_COMPILER}" Debug ${options})
endif()

# The C++ program of docs/own_network.md, as a header of the test that runs it.
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/own_network.md")
file(READ "${PROJECT_SOURCE_DIR}/docs/own_network.md" page)
string(FIND "${page}" "```cpp\n" begin)
string(SUBSTRING "${page}" ${begin} -1 page)
string(FIND "${page}" "\n```\n" end)
math(EXPR length "${end} - 6")  # after the first line, with the last line's end
string(SUBSTRING "${page}" 7 ${length} page)
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/tests/embedding_page.h" CONTENT "${page}" @ONLY)
lenslet_test(embedding_own_graph SOURCES embedding/own_graph_test.cpp DEPENDS lenslet_api lenslet_reference)

lenslet_test_reads(embedding_consumers api cmake CMakeLists.txt docs/embedding.md)
lenslet_test_reads(embedding_subdirectory api cmake CMakeLists.txt)
