# The same sources for both kinds of device.
set(lenslet_layer_tests
    layers/layer_fixture.cpp layers/subjects_test.cpp layers/pool_test.cpp layers/relu_test.cpp layers/linear_test.cpp layers/softmax_test.cpp
    support/planted_faults.cpp)
set(lenslet_layer_targets lenslet_subjects)
if(TARGET lenslet_module_gemm_gpu_cublas)
  set_property(SOURCE ${lenslet_layer_tests} layers/gemm_gpu_test.cpp APPEND PROPERTY COMPILE_DEFINITIONS LENSLET_TEST_HAS_CUBLAS=1)
endif()

lenslet_test(layers_cpu SOURCES layers/built_for_test.cpp layers/functions_test.cpp SHARED ${lenslet_layer_tests}
             DEPENDS ${lenslet_layer_targets} lenslet_test_on_cpu)
lenslet_test(layers_gpu SOURCES layers/gemm_gpu_test.cpp layers/large_gpu_test.cpp
             SHARED ${lenslet_layer_tests} DEPENDS ${lenslet_layer_targets} lenslet_test_on_gpu GPU)
if(LENSLET_HAS_CUDA)
  target_sources(test_layers_gpu PRIVATE layers/early_launch_test.cu)
  # The launches of the GPU kernels, on a simulated GPU.
  lenslet_test(layer_launches SOURCES layers/layer_launches_test.cpp layers/unlaunched_kernel.cu DEPENDS ${lenslet_layer_targets})
  lenslet_simulate_gpu(layer_launches)
endif()
lenslet_test(modules SOURCES layers/modules_test.cpp DEPENDS lenslet_linear lenslet_conv)

get_property(lenslet_modules GLOBAL PROPERTY LENSLET_MODULES)
list(JOIN lenslet_modules " " lenslet_module_names)
lenslet_test(module_libraries SOURCES layers/libraries_test.cpp DEPENDS lenslet_framework)
target_compile_definitions(test_module_libraries PRIVATE LENSLET_TEST_MODULES="${lenslet_module_names}"
                           LENSLET_TEST_MODULE_DIR="${PROJECT_BINARY_DIR}/lib")
list(TRANSFORM lenslet_modules PREPEND lenslet_module_)
foreach(test layers_cpu layers_gpu modules module_libraries)
  if(lenslet_modules)
    add_dependencies(test_${test} ${lenslet_modules})
  endif()
endforeach()
