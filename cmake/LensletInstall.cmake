# `cmake --install`: programs, modules, libraries, headers, the CMake package and pkg-config's file, in two components
# for packagers: `runtime` (programs, modules, the shared library) and `development` (what users compile with).
# Installed files have no absolute path: every path is relative to the file.

include(CMakePackageConfigHelpers)

# Headers for users: those without "Internal" in their head comment, and the headers of the tree that they include.
function(lenslet_public_headers result)
  set(headers "")
  foreach(folder framework layers models api)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/${folder}/*.h")
    list(APPEND headers ${found})
  endforeach()
  list(FILTER headers EXCLUDE REGEX "^layers/conv/gpu/ladder/")  # its library is not installed
  list(REMOVE_ITEM headers api/lenslet.h)                       # installed by itself
  set(public "")
  foreach(header IN LISTS headers)
    file(READ "${PROJECT_SOURCE_DIR}/${header}" text LIMIT 4096)
    string(REGEX MATCH "^(//[^\n]*\n)+" head "${text}")
    if(NOT head MATCHES "Internal")
      list(APPEND public "${header}")
    endif()
  endforeach()
  # The list grows during the loop, because the includes of an included header count too.
  set(unseen ${public})
  while(unseen)
    list(POP_FRONT unseen header)
    file(STRINGS "${PROJECT_SOURCE_DIR}/${header}" lines REGEX "^#include \"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
      if(EXISTS "${PROJECT_SOURCE_DIR}/${included}" AND NOT included IN_LIST public)
        list(APPEND public "${included}")
        list(APPEND unseen "${included}")
      endif()
    endforeach()
  endwhile()
  set(${result} ${public} PARENT_SCOPE)
endfunction()

set(lenslet_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/lenslet")
set(lenslet_cxx_headers_dir "${CMAKE_INSTALL_INCLUDEDIR}/lenslet")

# Programs and their modules.
if(LENSLET_BUILD_APPS)
  install(TARGETS lenslet_app lenslet_convbench RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}" COMPONENT runtime)
  install(FILES apps/lenslet/diff/onnxruntime_values.py DESTINATION "${CMAKE_INSTALL_DATADIR}/lenslet/diff" COMPONENT runtime)
  install(DIRECTORY apps/report/ DESTINATION "${CMAKE_INSTALL_DATADIR}/lenslet/report" COMPONENT runtime
          FILES_MATCHING PATTERN "*.py" PATTERN "*.css" PATTERN "glossary.txt" PATTERN "__pycache__" EXCLUDE)
  install(DIRECTORY samples/ DESTINATION "${CMAKE_INSTALL_DATADIR}/lenslet/samples" COMPONENT runtime
          FILES_MATCHING PATTERN "*.png" PATTERN "README.md")
endif()
get_property(lenslet_modules GLOBAL PROPERTY LENSLET_MODULES)
foreach(module IN LISTS lenslet_modules)
  install(TARGETS lenslet_module_${module} LIBRARY DESTINATION "${LENSLET_INSTALL_MODULEDIR}" COMPONENT runtime)
endforeach()
install(FILES LICENSE README.md DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT runtime)

# Libraries; the folders below api/, and api/ itself, declared them in `lenslet_libraries`.
foreach(library IN LISTS lenslet_libraries)
  string(REGEX REPLACE "^lenslet_" "" export_name "${library}")
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${export_name})
endforeach()
install(TARGETS ${lenslet_libraries} lenslet_options EXPORT lenslet_static
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development)
install(TARGETS lenslet_shared EXPORT lenslet_shared
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime NAMELINK_COMPONENT development)

# Headers: the C interface as <lenslet.h>; C++ as in the tree, in a folder of their own.
install(FILES api/lenslet.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
lenslet_public_headers(lenslet_headers)
foreach(header IN LISTS lenslet_headers)
  get_filename_component(folder "${header}" DIRECTORY)
  install(FILES "${header}" DESTINATION "${lenslet_cxx_headers_dir}/${folder}" COMPONENT development)
  # In 0.1 the headers of framework/ and of models/ stood in one folder: what includes them by those paths still
  # compiles.
  get_filename_component(name "${header}" NAME)
  if(NOT folder MATCHES "^(framework/io|models/fused_lenet5|models/onnx)$" AND folder MATCHES "^(framework|models)/")
    set(forward "${PROJECT_BINARY_DIR}/forward/${CMAKE_MATCH_1}/${name}")
    file(CONFIGURE OUTPUT "${forward}" CONTENT "// Moved to ${header}.\n#pragma once\n#include \"${header}\"\n" @ONLY)
    install(FILES "${forward}" DESTINATION "${lenslet_cxx_headers_dir}/${CMAKE_MATCH_1}" COMPONENT development)
  endif()
endforeach()
install(FILES "${PROJECT_BINARY_DIR}/generated/framework/version.h" DESTINATION "${lenslet_cxx_headers_dir}/framework"
        COMPONENT development)

# find_package(lenslet CONFIG)
foreach(component shared static)
  install(EXPORT lenslet_${component} NAMESPACE lenslet:: FILE lenslet-${component}.cmake
          DESTINATION "${lenslet_package_dir}" COMPONENT development)
endforeach()
configure_package_config_file(cmake/lensletConfig.cmake.in "${PROJECT_BINARY_DIR}/lensletConfig.cmake"
                              INSTALL_DESTINATION "${lenslet_package_dir}" NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor version may change interfaces.
write_basic_package_version_file("${PROJECT_BINARY_DIR}/lensletConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/lensletConfig.cmake" "${PROJECT_BINARY_DIR}/lensletConfigVersion.cmake"
        DESTINATION "${lenslet_package_dir}" COMPONENT development)

# pkg-config lenslet: the shared library. The path to the prefix is relative, so that the package can be moved.
set(lenslet_pc_dir "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
file(RELATIVE_PATH LENSLET_PREFIX_FROM_PC "${lenslet_pc_dir}" "${CMAKE_INSTALL_PREFIX}")
foreach(directory INCLUDEDIR LIBDIR)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${directory}}")
    message(FATAL_ERROR "CMAKE_INSTALL_${directory} must be relative to the prefix, found ${CMAKE_INSTALL_${directory}}: "
                        "what is installed can be moved only as a whole")
  endif()
endforeach()
configure_file(cmake/lenslet.pc.in "${PROJECT_BINARY_DIR}/lenslet.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/lenslet.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
