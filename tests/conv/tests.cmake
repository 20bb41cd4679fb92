lenslet_test(conv_problem SOURCES conv/conv_problem_test.cpp conv/conv_problem_list_test.cpp
             DEPENDS lenslet_conv lenslet_reference)
lenslet_test(tma_choice SOURCES conv/tma_choice_test.cpp DEPENDS lenslet_conv)
lenslet_test(conv_verifier SOURCES conv/conv_verifier_test.cpp DEPENDS lenslet_conv_verify)
lenslet_test(conv_layer SOURCES conv/conv_layer_test.cpp DEPENDS lenslet_conv lenslet_reference)

# The same sources for both kinds of device: every backend of the registry on every problem list.
lenslet_test(conv_cpu SOURCES conv/conv_reach_test.cpp SHARED conv/conv_backends_test.cpp conv/conv_pooling_test.cpp
             DEPENDS lenslet_conv_verify lenslet_test_on_cpu)
# Lists with a slow reference are separate tests: two cores share them, and --quick leaves them out.
set(slow_lists deep3x3 depthwise pointwise tails)
list(TRANSFORM slow_lists REPLACE "(.+)" "*_\\1*" OUTPUT_VARIABLE filters)
string(REPLACE ";" ":" filters "${filters}")
set_property(TEST conv_cpu PROPERTY ENVIRONMENT "GTEST_FILTER=-${filters}")
foreach(list IN LISTS slow_lists)
  add_test(NAME conv_cpu_${list} COMMAND test_conv_cpu "--gtest_filter=*_${list}*")
  set_tests_properties(conv_cpu_${list} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
lenslet_test(conv_gpu SHARED conv/conv_backends_test.cpp conv/conv_pooling_test.cpp
             DEPENDS lenslet_conv_verify lenslet_test_on_gpu GPU SHARDS 32)

if(LENSLET_HAS_CUDA)
  lenslet_test(conv_sizes SOURCES conv/conv_sizes_test.cu DEPENDS lenslet_conv_verify GPU)

  # The launches of the GPU kernels, on simulated GPUs.
  lenslet_test(conv_launches SOURCES conv/conv_launches_test.cu conv/launch_limits_test.cu
               DEPENDS lenslet_conv lenslet_test_on_gpu)
  lenslet_simulate_gpu(conv_launches)
endif()
if(TARGET CUDNN::cudnn)
  lenslet_test(cudnn_pack SOURCES conv/cudnn_pack_test.cpp support/allocation_counter.cpp
               DEPENDS lenslet_framework CUDNN::cudnn)
endif()

lenslet_test(conv_ladder SOURCES conv/conv_ladder_test.cpp DEPENDS lenslet_conv_ladder lenslet_conv_verify GPU SHARDS 6)

get_property(lenslet_modules GLOBAL PROPERTY LENSLET_MODULES)
list(TRANSFORM lenslet_modules PREPEND lenslet_module_)
foreach(test conv_cpu conv_gpu conv_layer conv_sizes)
  if(lenslet_modules AND TARGET test_${test})
    add_dependencies(test_${test} ${lenslet_modules})
  endif()
endforeach()
