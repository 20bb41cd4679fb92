# Sets `result` to whether the build serves compute capability 9.0 and the toolkit knows its instructions (sm_90a).
function(lenslet_builds_for_hopper result)
  set(archs "${CMAKE_CUDA_ARCHITECTURES}")
  if(archs STREQUAL "native")
    set(archs "${CMAKE_CUDA_ARCHITECTURES_NATIVE}")
  endif()
  set(${result} OFF PARENT_SCOPE)
  if("${archs}" MATCHES "(^|;)(90a?(-real|-virtual)?|all|all-major)(;|$)" AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.0)
    set(${result} ON PARENT_SCOPE)
  endif()
endfunction()

# lenslet_hopper_object(<target> <file> <sources> <users…>): builds `file` for sm_90a alone where the build serves that card,
# appends its objects to the list `sources` and defines LENSLET_HAS_HOPPER in it and in `users`.
function(lenslet_hopper_object target file sources)
  lenslet_builds_for_hopper(hopper)
  if(NOT LENSLET_HAS_CUDA OR NOT hopper)
    return()
  endif()
  add_library(${target} OBJECT "${file}")
  target_link_libraries(${target} PRIVATE lenslet_options lenslet_own_flags)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES 90a-real)
  set_source_files_properties("${file}" ${ARGN} PROPERTIES COMPILE_DEFINITIONS LENSLET_HAS_HOPPER=1)
  set(${sources} ${${sources}} "$<TARGET_OBJECTS:${target}>" PARENT_SCOPE)
endfunction()

# lenslet_conv_backend(<cpu|gpu> <name> [HOPPER] [MODULE LIBRARY <target>]): adds layers/conv/<where>/<name>.{cpp,cu} and
# one row of the generated table that the registry, the tests and the benchmark iterate.
# HOPPER: <name>_hopper.cu beside it goes along, built for sm_90a alone and only where the build serves that card;
# LENSLET_HAS_HOPPER then is defined in both files.
function(lenslet_conv_backend where name)
  cmake_parse_arguments(arg "HOPPER;MODULE" "LIBRARY" "" ${ARGN})
  if(where STREQUAL "gpu" AND NOT LENSLET_HAS_CUDA)
    # The name stays known: whoever asks for it hears what is missing, not that there is no such backend.
    set_property(GLOBAL APPEND_STRING PROPERTY LENSLET_CONV_ROWS
                 "LENSLET_CONV_NOT_BUILT(${where}, ${name}, \"this build has no GPU side: configure with -DLENSLET_CUDA=ON, or use --device cpu\")\n")
    return()
  endif()
  set(file "${where}/${name}.cpp")
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${where}/${name}.cu")
    set(file "${where}/${name}.cu")
  endif()
  if(NOT arg_MODULE)
    set(row "LENSLET_CONV_BUILT_IN(${where}, ${name})")
    set_property(GLOBAL APPEND PROPERTY LENSLET_CONV_SOURCES "${file}")
    if(arg_HOPPER)
      lenslet_hopper_object(lenslet_conv_${where}_${name}_hopper "${where}/${name}_hopper.cu" objects "${file}")
      set_property(GLOBAL APPEND PROPERTY LENSLET_CONV_SOURCES ${objects})
    endif()
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
  lenslet_library(lenslet_conv SOURCES conv_problem.cpp conv_problem_list.cpp conv_registry.cpp conv_layer.cpp prepare_services.cpp ${sources}
                  DEPENDS lenslet_framework lenslet_io lenslet_gemm lenslet_pool)
endfunction()
