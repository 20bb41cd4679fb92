# Finds cuDNN 9: the target CUDNN::cudnn and CUDNN_VERSION. Looks in CUDNN_ROOT (variable or environment), beside the
# CUDA toolkit, and in the system's folders, where Debian and Ubuntu put it.
#
# Only libcudnn itself is linked. It opens its sub-libraries by name when they are first needed.

set(_cudnn_hints ${CUDNN_ROOT} $ENV{CUDNN_ROOT})
foreach(_cudnn_dir IN LISTS CUDAToolkit_INCLUDE_DIRS)
  get_filename_component(_cudnn_dir "${_cudnn_dir}/.." ABSOLUTE)
  list(APPEND _cudnn_hints "${_cudnn_dir}")
endforeach()
foreach(_cudnn_dir IN ITEMS "${CUDAToolkit_TARGET_DIR}" "${CUDAToolkit_LIBRARY_ROOT}")
  if(_cudnn_dir)
    list(APPEND _cudnn_hints "${_cudnn_dir}")
  endif()
endforeach()

find_path(CUDNN_INCLUDE_DIR cudnn.h HINTS ${_cudnn_hints} PATH_SUFFIXES include)
find_library(CUDNN_LIBRARY cudnn HINTS ${_cudnn_hints} PATH_SUFFIXES lib lib64 lib/x64)
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)

set(CUDNN_VERSION "")
if(CUDNN_INCLUDE_DIR AND EXISTS "${CUDNN_INCLUDE_DIR}/cudnn_version.h")
  file(STRINGS "${CUDNN_INCLUDE_DIR}/cudnn_version.h" _cudnn_lines
       REGEX "^#define CUDNN_(MAJOR|MINOR|PATCHLEVEL) +[0-9]+")
  foreach(_cudnn_part IN ITEMS MAJOR MINOR PATCHLEVEL)
    if(_cudnn_lines MATCHES "CUDNN_${_cudnn_part} +([0-9]+)")
      list(APPEND CUDNN_VERSION ${CMAKE_MATCH_1})
    endif()
  endforeach()
  list(JOIN CUDNN_VERSION "." CUDNN_VERSION)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR VERSION_VAR CUDNN_VERSION)

if(CUDNN_FOUND AND NOT TARGET CUDNN::cudnn)
  add_library(CUDNN::cudnn UNKNOWN IMPORTED)
  set_target_properties(CUDNN::cudnn PROPERTIES IMPORTED_LOCATION "${CUDNN_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${CUDNN_INCLUDE_DIR}")
  if(CUDAToolkit_INCLUDE_DIRS)
    # For cuda_runtime_api.h, which cudnn.h includes; nothing of the runtime is linked.
    target_include_directories(CUDNN::cudnn SYSTEM INTERFACE ${CUDAToolkit_INCLUDE_DIRS})
  endif()
endif()
