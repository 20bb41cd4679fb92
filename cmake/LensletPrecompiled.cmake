# Precompiled standard headers, honouring LENSLET_PRECOMPILED (AUTO, ON or OFF). A small source costs half its time in the
# same standard headers. AUTO: a release of the CPU side without a compiler launcher, since ccache does not find objects
# again that were compiled with another folder's precompiled header; and not where warnings are errors, so that such a
# build shows that every source includes what it uses.

if(NOT LENSLET_PRECOMPILED MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "LENSLET_PRECOMPILED must be AUTO, ON or OFF, found '${LENSLET_PRECOMPILED}'")
endif()
set(lenslet_precompiles ${LENSLET_PRECOMPILED})
if(LENSLET_PRECOMPILED STREQUAL "AUTO")
  set(lenslet_precompiles OFF)
  if(lenslet_on_its_own AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT CMAKE_CXX_COMPILER_LAUNCHER
     AND NOT LENSLET_HAS_CUDA AND NOT LENSLET_SANITIZE AND NOT LENSLET_WERROR)
    set(lenslet_precompiles ON)
  endif()
endif()

# The standard headers that most sources include, directly or not.
set(lenslet_precompiled_headers
  <algorithm> <array> <atomic> <charconv> <chrono> <cmath> <cstdint> <cstring> <functional> <limits> <map> <memory>
  <mutex> <optional> <sstream> <stdexcept> <string> <string_view> <unordered_map> <utility> <vector>)

# lenslet_precompile_for(<leader> <target>…): the targets use the header that <leader> compiles with the same flags.
# Sources with options of their own are compiled without it.
function(lenslet_precompile_for leader)
  if(NOT ARGN)
    return()
  endif()
  if(NOT TARGET ${leader})
    set(source "${PROJECT_BINARY_DIR}/generated/${leader}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "// Generated: compiles nothing but the precompiled header.\n")
    add_library(${leader} OBJECT "${source}")
    target_link_libraries(${leader} PRIVATE lenslet_options lenslet_own_flags)
    target_precompile_headers(${leader} PRIVATE ${lenslet_precompiled_headers})
  endif()
  foreach(target IN LISTS ARGN)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "EXECUTABLE")  # -fPIE instead of -fPIC
      target_precompile_headers(${target} PRIVATE ${lenslet_precompiled_headers})
    else()
      target_precompile_headers(${target} REUSE_FROM ${leader})
    endif()
    # GCC 12 no longer sees that a function inlined into ours is from a system header if that header is precompiled.
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-stringop-overread>)
    get_target_property(sources ${target} SOURCES)
    get_target_property(folder ${target} SOURCE_DIR)
    foreach(source IN LISTS sources)
      cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY "${folder}")
      get_source_file_property(options "${source}" TARGET_DIRECTORY ${target} COMPILE_OPTIONS)
      if(options)
        set_property(SOURCE "${source}" TARGET_DIRECTORY ${target} PROPERTY SKIP_PRECOMPILE_HEADERS ON)
      endif()
    endforeach()
  endforeach()
endfunction()

# lenslet_precompile(<target>…): compiles the sources of these targets with the precompiled header.
function(lenslet_precompile)
  if(NOT lenslet_precompiles)
    return()
  endif()
  set(lightly)
  set(fully)
  foreach(target IN LISTS ARGN)
    get_target_property(type ${target} TYPE)
    get_target_property(light ${target} LENSLET_LIGHT)
    if(type STREQUAL "INTERFACE_LIBRARY")
      continue()
    elseif(light)
      list(APPEND lightly ${target})
    else()
      list(APPEND fully ${target})
    endif()
  endforeach()
  lenslet_precompile_for(lenslet_precompiled ${fully})
  lenslet_precompile_for(lenslet_precompiled_lightly ${lightly})
  if(TARGET lenslet_precompiled_lightly)
    lenslet_compile_lightly(lenslet_precompiled_lightly)
  endif()
  message(STATUS "Lenslet: precompiled standard headers (LENSLET_PRECOMPILED=${LENSLET_PRECOMPILED})")
endfunction()
