# Sets `result` to whether the build includes compute capability 9.0 and the toolkit has its instructions (sm_90a).
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

# lenslet_hopper_object(<target> <files> <sources> <users…>): builds `files` for sm_90a only, if the build includes that
# GPU, appends its objects to the list `sources` and defines LENSLET_HAS_HOPPER for it and for `users`.
function(lenslet_hopper_object target files sources)
  lenslet_builds_for_hopper(hopper)
  if(NOT LENSLET_HAS_CUDA OR NOT hopper)
    return()
  endif()
  add_library(${target} OBJECT ${files})
  target_link_libraries(${target} PRIVATE lenslet_options lenslet_own_flags)
  set_target_properties(${target} PROPERTIES CUDA_ARCHITECTURES 90a-real)
  set_source_files_properties(${files} ${ARGN} PROPERTIES COMPILE_DEFINITIONS LENSLET_HAS_HOPPER=1)
  set(${sources} ${${sources}} "$<TARGET_OBJECTS:${target}>" PARENT_SCOPE)
endfunction()

# Sets `result` to the interface of that kind's backends: LinearBackend of linear.
function(lenslet_backend_class kind result)
  string(SUBSTRING ${kind} 0 1 initial)
  string(TOUPPER ${initial} initial)
  string(SUBSTRING ${kind} 1 -1 rest)
  set(${result} "${initial}${rest}Backend" PARENT_SCOPE)
endfunction()

# Ends with an error unless the file of a row makes the backend of that name. Without this check a misspelt name would
# be an undefined symbol of the generated table, found by the linker.
function(lenslet_check_backend kind where name file)
  set(row "lenslet_backend(${kind} ${where} ${name})")
  file(RELATIVE_PATH shown "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
    message(FATAL_ERROR "${row}: there is no ${shown}, and none with the ending .cu")
  endif()
  file(STRINGS "${CMAKE_CURRENT_SOURCE_DIR}/${file}" found REGEX "^LENSLET_BACKEND\\(")
  if(NOT "${found}" MATCHES "LENSLET_BACKEND\\(${kind}, *${where}_${name},")
    if(NOT found)
      set(found "no LENSLET_BACKEND")
    endif()
    message(FATAL_ERROR "${row}: ${shown} must have LENSLET_BACKEND(${kind}, ${where}_${name}, …), found ${found}")
  endif()
endfunction()

# lenslet_backend(<kind> <cpu|gpu> <name> [VECTOR [CHOOSES]] [HOPPER] [MODULE LIBRARY <target> [SOURCES …]]): adds
# <where>/<name>.{cpp,cu} of this folder, the sources in <where>/<name>/, and one row of its generated table, which
# layers, listings, tests and tuner iterate. The order is the rank. The global property LENSLET_BACKENDS has a line of
# each row, "<kind> <where> <name> <file from the root>".
# VECTOR: the file has vector code, with CHOOSES in loops that choose (lenslet_kernel_sources).
# HOPPER: builds <name>/hopper*.cu for sm_90a only and only if the build includes that GPU; LENSLET_HAS_HOPPER is then
# defined in all these files.
# MODULE: a shared object, opened on first use and linked to LIBRARY; if that is absent, the row has no code.
function(lenslet_backend kind where name)
  cmake_parse_arguments(arg "VECTOR;CHOOSES;HOPPER;MODULE" "LIBRARY" "SOURCES" ${ARGN})
  set(device kCpu)
  if(where STREQUAL "gpu")
    set(device kCuda)
  endif()
  set(file "${where}/${name}.cpp")
  if(EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/${where}/${name}.cu")
    set(file "${where}/${name}.cu")
  endif()
  if(NOT arg_MODULE)
    lenslet_check_backend(${kind} ${where} ${name} "${file}")
  endif()
  if(arg_VECTOR AND arg_CHOOSES)
    lenslet_kernel_sources("${file}" CHOOSES)
  elseif(arg_VECTOR)
    lenslet_kernel_sources("${file}")
  endif()
  file(RELATIVE_PATH from_root "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  set_property(GLOBAL APPEND_STRING PROPERTY LENSLET_BACKENDS "${kind} ${where} ${name} ${from_root}\n")
  set(place "BackendEntry::Kind::kNotBuilt, ")
  if(where STREQUAL "gpu" AND NOT LENSLET_HAS_CUDA)
    # The name is kept, so that the error can explain what is missing.
    string(APPEND place "\"this build has no GPU side: configure with -DLENSLET_CUDA=ON, or use device cpu\"")
  elseif(NOT arg_MODULE)
    set(place "&${kind}_backends::${where}_${name}")
    lenslet_backend_class(${kind} class)
    set_property(GLOBAL APPEND_STRING PROPERTY LENSLET_${kind}_GETTERS "const ${class}& ${where}_${name}();\n")
    set(folder "${CMAKE_CURRENT_SOURCE_DIR}/${where}/${name}")
    file(GLOB own RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS "${folder}/*.cpp" "${folder}/*.cu")
    if(arg_HOPPER)
      set(hopper_files ${own})
      list(FILTER hopper_files INCLUDE REGEX "/hopper[^/]*\\.cu$")
      list(REMOVE_ITEM own ${hopper_files})
      lenslet_hopper_object(lenslet_${kind}_${where}_${name}_hopper "${hopper_files}" objects "${file}")
    endif()
    set_property(GLOBAL APPEND PROPERTY LENSLET_${kind}_SOURCES "${file}" ${own} ${objects})
    if(where STREQUAL "gpu")
      list(FILTER own INCLUDE REGEX "\\.cpp$")
      lenslet_cuda_headers(${own})
    endif()
  elseif(TARGET ${arg_LIBRARY})
    set(place "BackendEntry::Kind::kModule, \"${kind}_${where}_${name}\"")
    lenslet_module(${kind}_${where}_${name} SOURCES ${file} ${arg_SOURCES} LIBRARIES ${arg_LIBRARY}
                   DEPENDS lenslet_framework)
  else()
    string(APPEND place "\"${arg_LIBRARY} was not found when Lenslet was configured\"")
  endif()
  set_property(GLOBAL APPEND_STRING PROPERTY LENSLET_${kind}_ROWS "      {DeviceKind::${device}, \"${name}\", ${place}},\n")
endfunction()

# lenslet_operation(<kind> SOURCES … [CUDA_SOURCES …] DEPENDS …): the library lenslet_<kind> of this folder: its
# sources, every built-in backend declared before, and <kind>_table(), whose interface <Kind>Backend is declared in
# <kind>_backend.h.
function(lenslet_operation kind)
  cmake_parse_arguments(arg "" "" "SOURCES;CUDA_SOURCES;DEPENDS" ${ARGN})
  get_property(rows GLOBAL PROPERTY LENSLET_${kind}_ROWS)
  get_property(getters GLOBAL PROPERTY LENSLET_${kind}_GETTERS)
  get_property(sources GLOBAL PROPERTY LENSLET_${kind}_SOURCES)
  lenslet_backend_class(${kind} class)
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  set(table "${PROJECT_BINARY_DIR}/generated/${folder}/${kind}_table.cpp")
  file(CONFIGURE OUTPUT "${table}" @ONLY CONTENT
"// Generated from the rows of ${folder}/CMakeLists.txt, in rank order.
#include \"framework/graph/backend_table.h\"
#include \"${folder}/${kind}_backend.h\"

namespace lenslet {
namespace ${kind}_backends {
@getters@}  // namespace ${kind}_backends

const BackendTable<${class}>& ${kind}_table();
const BackendTable<${class}>& ${kind}_table() {
  static const BackendTable<${class}> table(\"${kind}\", {
@rows@  });
  return table;
}

}  // namespace lenslet
")
  lenslet_library(lenslet_${kind} SOURCES ${arg_SOURCES} ${sources} "${table}" CUDA_SOURCES ${arg_CUDA_SOURCES}
                  DEPENDS ${arg_DEPENDS})
endfunction()
