lenslet_test(conv_problem SOURCES conv/conv_problem_test.cpp DEPENDS lenslet_conv lenslet_reference)
lenslet_test(conv_verifier SOURCES conv/conv_verifier_test.cpp DEPENDS lenslet_conv_verify)
lenslet_test(conv_layer SOURCES conv/conv_layer_test.cpp DEPENDS lenslet_conv lenslet_reference)

# The same source for both kinds of device: every backend of the registry on every problem list.
lenslet_test(conv_cpu SOURCES conv/conv_backends_test.cpp conv/conv_pooling_test.cpp DEPENDS lenslet_conv_verify)
target_compile_definitions(test_conv_cpu PRIVATE LENSLET_TEST_DEVICE=lenslet::DeviceKind::kCpu)
lenslet_test(conv_gpu SOURCES conv/conv_backends_test.cpp conv/conv_pooling_test.cpp DEPENDS lenslet_conv_verify GPU SHARDS 16)
target_compile_definitions(test_conv_gpu PRIVATE LENSLET_TEST_DEVICE=lenslet::DeviceKind::kCuda)

lenslet_test(conv_ladder SOURCES conv/conv_ladder_test.cpp DEPENDS lenslet_conv_ladder lenslet_conv_verify GPU SHARDS 6)

get_property(lenslet_modules GLOBAL PROPERTY LENSLET_MODULES)
list(TRANSFORM lenslet_modules PREPEND lenslet_module_)
foreach(test conv_cpu conv_gpu conv_layer)
  if(lenslet_modules)
    add_dependencies(test_${test} ${lenslet_modules})
  endif()
endforeach()
