lenslet_test(lenet SOURCES lenet/lenet5_test.cpp lenet/golden_test.cpp lenet/lenet_fixture.cpp
             support/allocation_counter.cpp DEPENDS lenslet_models lenslet_softmax)
lenslet_test(lenet_gpu SOURCES lenet/golden_gpu_test.cpp lenet/lenet_fixture.cpp DEPENDS lenslet_models GPU)
