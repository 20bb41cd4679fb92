lenslet_test(lenet SOURCES lenet/lenet5_test.cpp lenet/golden_test.cpp support/allocation_counter.cpp
             SHARED lenet/lenet_fixture.cpp DEPENDS lenslet_models lenslet_softmax)
lenslet_test(lenet_gpu SOURCES lenet/golden_gpu_test.cpp SHARED lenet/lenet_fixture.cpp DEPENDS lenslet_models GPU)
# The same sources for both kinds of device: every backend of LeNet-5 as a whole.
set(lenslet_fused_tests lenet/fused_test.cpp lenet/fused_planted_test.cpp lenet/fused_fixture.cpp lenet/fused_reference.cpp
    lenet/quantised_reference.cpp lenet/lenet_fixture.cpp support/planted_faults.cpp)
lenslet_test(fused_cpu SHARED ${lenslet_fused_tests} DEPENDS lenslet_models lenslet_subjects lenslet_test_on_cpu)
lenslet_test(fused_gpu SHARED ${lenslet_fused_tests} DEPENDS lenslet_models lenslet_subjects lenslet_test_on_gpu GPU)
lenslet_test(fused_simd SOURCES lenet/fused_cpu_test.cpp support/allocation_counter.cpp SHARED lenet/fused_reference.cpp
             DEPENDS lenslet_models lenslet_reference)
lenslet_test(quantise SOURCES lenet/quantise_test.cpp
             SHARED lenet/quantised_reference.cpp lenet/fused_reference.cpp lenet/lenet_fixture.cpp DEPENDS lenslet_models lenslet_reference)
lenslet_test(resident_gpu SOURCES lenet/resident_gpu_test.cpp SHARED lenet/lenet_fixture.cpp DEPENDS lenslet_models GPU ALONE)
lenslet_python_test(logit_tolerances "${CMAKE_CURRENT_LIST_DIR}/tolerances_test.py")
set_tests_properties(logit_tolerances PROPERTIES LABELS tree)  # independent of the build, like the checks of the tree
if(LENSLET_HAS_CUDA)
  # On simulated GPUs: which backends and launches they get, and the host's side of a resident kernel.
  lenslet_test(gpu_choices SOURCES lenet/gpu_choices_test.cpp DEPENDS lenslet_models)
  lenslet_simulate_gpu(gpu_choices)
  lenslet_test(resident_protocol SOURCES lenet/resident_protocol_test.cpp DEPENDS lenslet_models)
  lenslet_simulate_gpu(resident_protocol)
  lenslet_test(resident_lease_gpu SOURCES lenet/resident_lease_gpu_test.cpp DEPENDS lenslet_models GPU)
endif()

lenslet_test_reads(logit_tolerances layers/softmax models/fused_lenet5/winograd.h tests/support weights)
