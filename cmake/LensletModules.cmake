# Modules: shared objects opened on first use (framework/graph/module.h), each linked to one vendor library.

# lenslet_module(<name> SOURCES … LIBRARIES … [DEPENDS …]) builds lib/lenslet_<name>.so.
function(lenslet_module name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES;DEPENDS" ${ARGN})
  set(target lenslet_module_${name})
  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE lenslet_options lenslet_own_flags ${arg_DEPENDS} ${arg_LIBRARIES})
  # The runpath to the vendor's library must survive installation. It is the same before, because CMake pads a runpath
  # that it will replace with an empty entry, which the loader reads as the current folder.
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME lenslet_${name} INSTALL_RPATH_USE_LINK_PATH ON
                        BUILD_WITH_INSTALL_RPATH ON)
  set_property(GLOBAL APPEND PROPERTY LENSLET_MODULES ${name})
endfunction()

include(LensletOneDnn)
if(LENSLET_HAS_CUDA)
  find_package(CUDNN 9 QUIET)  # absent: the cudnn backend is left out with that reason
endif()

# lenslet_needs_modules(<target>): builds all modules with the target. They are opened at run time, so nothing links to
# them.
function(lenslet_needs_modules target)
  get_property(modules GLOBAL PROPERTY LENSLET_MODULES)
  foreach(module IN LISTS modules)
    add_dependencies(${target} lenslet_module_${module})
  endforeach()
endfunction()
