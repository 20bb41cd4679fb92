# Several devices that compute one call. The devices are networks on the CPU with planted faults; on a machine with
# several GPUs those.
lenslet_test(devices SOURCES devices/chunks_test.cpp devices/device_set_test.cpp devices/model_test.cpp
             devices/names_test.cpp DEPENDS lenslet_api lenslet_crafted_files)
lenslet_test(devices_gpu SOURCES devices/devices_gpu_test.cpp DEPENDS lenslet_api GPU ALONE)

# The loss of one of two GPUs, with stand-ins for the functions of the CUDA runtime.
if(LENSLET_HAS_CUDA)
  lenslet_test(devices_lost SOURCES devices/lost_test.cpp devices/two_gpus.cpp DEPENDS lenslet_framework)
  lenslet_cuda_headers(devices/two_gpus.cpp)
  foreach(function
          cudaGetDeviceCount cudaGetDevice cudaSetDevice cudaMalloc cudaFree cudaMallocHost cudaFreeHost
          cudaStreamCreateWithFlags cudaStreamDestroy cudaStreamQuery cudaEventCreate cudaEventCreateWithFlags
          cudaEventDestroy cudaEventRecord cudaEventQuery cudaGetLastError cudaPeekAtLastError)
    target_link_options(test_devices_lost PRIVATE "LINKER:--wrap=${function}")
  endforeach()
else()
  lenslet_skipped_test(devices_lost "this build has no GPU side")
endif()
