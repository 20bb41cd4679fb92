# The GPU side of the matrix products: the step after a product in our own code, cuBLAS in a module.
if(LENSLET_HAS_CUDA)
  target_sources(lenslet_gemm PRIVATE ${CMAKE_CURRENT_LIST_DIR}/bias_relu.cu)
  if(TARGET CUDA::cublas)
    lenslet_module(gemm_cublas SOURCES ${CMAKE_CURRENT_LIST_DIR}/cublas.cpp LIBRARIES CUDA::cublas
                   DEPENDS lenslet_framework)
    target_compile_definitions(lenslet_gemm PRIVATE LENSLET_HAS_GEMM_CUBLAS=1)
  endif()
endif()
