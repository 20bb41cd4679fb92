# One target per folder, all with the same language standard and warnings.

include(GNUInstallDirs)
find_package(Threads REQUIRED)

# Where modules are installed, and how a program in its folder finds them.
set(LENSLET_INSTALL_MODULEDIR "${CMAKE_INSTALL_LIBDIR}/lenslet")
file(RELATIVE_PATH LENSLET_MODULES_FROM_PROGRAMS "${CMAKE_INSTALL_FULL_BINDIR}" "${CMAKE_INSTALL_FULL_LIBDIR}/lenslet")

set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the static libraries also go into the modules
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_CUDA_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# Settings for every target that includes a header, inside and outside the tree.
add_library(lenslet_options INTERFACE)
target_include_directories(lenslet_options INTERFACE
  "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>" "$<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>"
  "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/lenslet>")
target_compile_features(lenslet_options INTERFACE cxx_std_17)

# Device code for every architecture takes 150 MB in nvcc's default form, a sixth of that with --compress-mode=size, of
# which a third are line numbers. A build for one GPU keeps line numbers, for Nsight Compute, and is not compressed.
set(LENSLET_COMPRESSES_DEVICE_CODE OFF)
set(lenslet_device_code -lineinfo)
if(LENSLET_HAS_CUDA AND CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 12.8 AND CMAKE_CUDA_ARCHITECTURES MATCHES ";|^all")
  set(LENSLET_COMPRESSES_DEVICE_CODE ON)
  set(lenslet_device_code --compress-mode=size)
endif()

# Compiler options of our own sources; projects that embed Lenslet do not inherit them.
add_library(lenslet_own_flags INTERFACE)
target_compile_options(lenslet_own_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-qual>
  $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra ${lenslet_device_code}>)
if(LENSLET_WERROR)
  target_compile_options(lenslet_own_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Werror> $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>)
endif()
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_STANDARD_REQUIRED ON)
if(LENSLET_SANITIZE)
  set(lenslet_sanitize_flags -fsanitize=${LENSLET_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  string(REPLACE ";" "," lenslet_sanitize_host "${lenslet_sanitize_flags}")
  # After the flags above, so that it overrides them: the checks that a target leaves out, in its property
  # LENSLET_NO_SANITIZE.
  set(left_out $<TARGET_PROPERTY:LENSLET_NO_SANITIZE>)
  target_compile_options(lenslet_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:${lenslet_sanitize_flags}>
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${left_out}>>:-fno-sanitize=${left_out}>)
  target_link_options(lenslet_options INTERFACE ${lenslet_sanitize_flags})
endif()

# lenslet_library(<folder's target> SOURCES … [CUDA_SOURCES …] [DEPENDS legal neighbours …])
# CUDA_SOURCES are compiled only with the GPU side.
function(lenslet_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;CUDA_SOURCES;DEPENDS" ${ARGN})
  if(LENSLET_HAS_CUDA)
    list(APPEND arg_SOURCES ${arg_CUDA_SOURCES})
  endif()
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC lenslet_options ${arg_DEPENDS} PRIVATE $<BUILD_INTERFACE:lenslet_own_flags>)
    # Instrumented code is slow to optimise, so the presets do it with -Og. Only what computes gets more.
    file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
    if(LENSLET_SANITIZE AND folder MATCHES "^(layers|models/fused_lenet5)(/|$)")
      target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O1>)
    endif()
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE lenslet_options ${arg_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY LENSLET_LIBRARIES ${name})
endfunction()

# lenslet_compile_lightly(<target>): -O1 instead of a release's -O3, for tests and code that a program runs once.
# In an instrumented build it is -O0, without the checks that GCC puts at nearly every access, which double the time of
# the compiler. AddressSanitizer finds most of what they would; libraries of the other folders keep them.
function(lenslet_compile_lightly name)
  target_compile_options(${name} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)
  if(LENSLET_SANITIZE AND NOT LENSLET_FUZZ)
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
    set_target_properties(${name} PROPERTIES LENSLET_NO_SANITIZE null,object-size,alignment,vptr,pointer-overflow)
  endif()
  set_target_properties(${name} PROPERTIES LENSLET_LIGHT ON)
endfunction()

# lenslet_cuda_headers(<source>…): C++ sources that include headers of the CUDA toolkit.
function(lenslet_cuda_headers)
  set(folders ${CUDAToolkit_INCLUDE_DIRS})
  list(TRANSFORM folders PREPEND "-isystem;")
  set_property(SOURCE ${ARGN} PROPERTY COMPILE_OPTIONS ${folders})
endfunction()

# lenslet_kernel_sources(<source>… [CHOOSES]): vector code, instantiated for several instruction sets.
# For a generic processor, GCC 12.3 and newer fuse no multiply-adds in vectors of up to 256 bits by default. The AVX2
# kernels would lose half their rate, and with AVX-512 the bits of a sum would depend on the width of its vector.
# CHOOSES is for loops that choose between two values. GCC does not vectorise them by default, because computing the
# value that is not chosen could raise a floating-point exception. Nothing here reads these exceptions, and results are
# the same. In a build for fuzzing, the pointer checks of UndefinedBehaviorSanitizer are off: with those of
# AddressSanitizer on the thousands of accesses of a file, clang needs minutes instead of seconds. AddressSanitizer's
# suffice.
function(lenslet_kernel_sources)
  cmake_parse_arguments(PARSE_ARGV 0 arg CHOOSES "" "")
  set(sources ${arg_UNPARSED_ARGUMENTS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS --param=avoid-fma-max-bits=0)
    if(arg_CHOOSES)
      set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS -fno-trapping-math)
    endif()
  endif()
  if(LENSLET_FUZZ)
    set_property(SOURCE ${sources} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=alignment,null,pointer-overflow,array-bounds)
  endif()
endfunction()

# lenslet_embed(<variable> <file> <symbol>): sets the variable to a source that defines the file as
# lenslet::embedded::<symbol>[] and <symbol>_size.
function(lenslet_embed variable file symbol)
  set(embedded "${PROJECT_BINARY_DIR}/generated/embedded/${symbol}.cpp")
  set(script "${PROJECT_SOURCE_DIR}/cmake/EmbedFile.cmake")
  cmake_path(ABSOLUTE_PATH file)
  add_custom_command(
    OUTPUT "${embedded}"
    COMMAND "${CMAKE_COMMAND}" -DINPUT=${file} -DOUTPUT=${embedded} -DSYMBOL=${symbol} -P "${script}"
    DEPENDS "${file}" "${script}"
    COMMENT "Embedding ${file}"
    VERBATIM)
  set(${variable} "${embedded}" PARENT_SCOPE)
endfunction()

function(lenslet_print_summary)
  if(LENSLET_HAS_CUDA)
    message(STATUS "Lenslet: GPU side on, CUDA ${CUDAToolkit_VERSION}, architectures ${CMAKE_CUDA_ARCHITECTURES}")
  else()
    message(STATUS "Lenslet: GPU side off (LENSLET_CUDA=${LENSLET_CUDA})")
  endif()
  get_property(modules GLOBAL PROPERTY LENSLET_MODULES)
  message(STATUS "Lenslet: modules opened on first use: ${modules}")
endfunction()
