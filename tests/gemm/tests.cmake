lenslet_test(gemm_cpu SOURCES gemm/gemm_cpu_test.cpp DEPENDS lenslet_subjects)
if(TARGET lenslet_module_gemm_cpu_onednn)
  add_dependencies(test_gemm_cpu lenslet_module_gemm_cpu_onednn)
endif()
