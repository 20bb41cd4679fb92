# Finds oneDNN 2.x as the imported target DNNL::dnnl, honouring LENSLET_ONEDNN (AUTO, ON or OFF).
# Only modules use it: the library and the programs never link it. oneDNN's own CMake package is not used, because
# Debian's also requires the development files of OpenCL, which the project does not need.

if(NOT LENSLET_ONEDNN MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "LENSLET_ONEDNN must be AUTO, ON or OFF, found '${LENSLET_ONEDNN}'")
endif()
if(NOT LENSLET_ONEDNN STREQUAL "OFF")
  find_path(LENSLET_ONEDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
  find_library(LENSLET_ONEDNN_LIBRARY dnnl)
  mark_as_advanced(LENSLET_ONEDNN_INCLUDE_DIR LENSLET_ONEDNN_LIBRARY)
  set(lenslet_onednn_found "nothing")
  if(LENSLET_ONEDNN_INCLUDE_DIR AND LENSLET_ONEDNN_LIBRARY)
    file(STRINGS "${LENSLET_ONEDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h" lines REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
    string(REGEX REPLACE "[^0-9;]" "" numbers "${lines}")
    string(REPLACE ";" "." lenslet_onednn_found "${numbers}")
  endif()
  # Version 3 describes primitives differently; it is refused here, with a clear message, instead of failing to compile.
  if(lenslet_onednn_found VERSION_GREATER_EQUAL 2.6 AND lenslet_onednn_found VERSION_LESS 3)
    add_library(DNNL::dnnl UNKNOWN IMPORTED)
    set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION "${LENSLET_ONEDNN_LIBRARY}"
                          INTERFACE_INCLUDE_DIRECTORIES "${LENSLET_ONEDNN_INCLUDE_DIR}")
    message(STATUS "Lenslet: oneDNN ${lenslet_onednn_found} at ${LENSLET_ONEDNN_LIBRARY}")
  elseif(LENSLET_ONEDNN STREQUAL "ON")
    message(FATAL_ERROR "LENSLET_ONEDNN=ON needs oneDNN 2.6 or a later 2.x, found ${lenslet_onednn_found}: install "
                        "libdnnl-dev, or set LENSLET_ONEDNN_INCLUDE_DIR and LENSLET_ONEDNN_LIBRARY")
  else()
    message(STATUS "Lenslet: no oneDNN 2.x (found ${lenslet_onednn_found}), so no oneDNN modules")
  endif()
endif()
