# lenslet_conv_backend(<cpu|gpu> <name> [MODULE LIBRARY <target>]): adds layers/conv/<where>/<name>.{cpp,cu} and one row
# of the generated table that the registry, the tests and the benchmark iterate.
function(lenslet_conv_backend where name)
  cmake_parse_arguments(arg "MODULE" "LIBRARY" "" ${ARGN})
  if(where STREQUAL "gpu" AND NOT LENSLET_HAS_CUDA)
    return()  # a build without CUDA has no GPU rows at all
  endif()
  set(file "${where}/${name}.cpp")
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${where}/${name}.cu")
    set(file "${where}/${name}.cu")
  endif()
  if(NOT arg_MODULE)
    set(row "LENSLET_CONV_BUILT_IN(${where}, ${name})")
    set_property(GLOBAL APPEND PROPERTY LENSLET_CONV_SOURCES "${file}")
  elseif(TARGET ${arg_LIBRARY})
    set(row "LENSLET_CONV_MODULE(${where}, ${name})")
    lenslet_module(conv_${where}_${name} SOURCES ${file} conv_problem.cpp LIBRARIES ${arg_LIBRARY}
                   DEPENDS lenslet_framework)
  else()
    set(row "LENSLET_CONV_NOT_BUILT(${where}, ${name}, \"${arg_LIBRARY} was not found when Lenslet was configured\")")
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY LENSLET_CONV_ROWS "${row}\n")
endfunction()

# The conv target: registry, layer and every built-in backend declared above.
function(lenslet_conv_library)
  get_property(rows GLOBAL PROPERTY LENSLET_CONV_ROWS)
  get_property(sources GLOBAL PROPERTY LENSLET_CONV_SOURCES)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/generated/layers/conv/conv_backend_table.inc"
       CONTENT "// Generated from the rows of layers/conv/CMakeLists.txt, in rank order.\n@rows@" @ONLY)
  lenslet_library(lenslet_conv SOURCES conv_problem.cpp conv_registry.cpp conv_layer.cpp prepare_services.cpp ${sources}
                  DEPENDS lenslet_framework lenslet_gemm)
endfunction()
