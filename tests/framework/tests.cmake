lenslet_test(framework SOURCES framework/basics_test.cpp framework/fusion_test.cpp framework/graph_test.cpp framework/plan_test.cpp
             framework/kept_graphs_test.cpp framework/memory_layout_test.cpp framework/pixels_test.cpp framework/profiler_test.cpp framework/shared_loop_test.cpp framework/slices_test.cpp framework/stored_floats_test.cpp framework/tensor_types_test.cpp framework/tuner_test.cpp support/allocation_counter.cpp DEPENDS lenslet_framework)
lenslet_test(framework_gpu SOURCES framework/gpu_test.cpp DEPENDS lenslet_framework GPU ALONE)
