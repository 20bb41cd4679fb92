# The Debian packages: lenslet (programs, modules, shared library, manual pages, completions, samples) and
# liblenslet-dev (headers, static libraries, CMake and pkg-config files). `cpack` packs a build; `./dev package` builds
# first.
set(LENSLET_PACKAGE_CONTACT "Lenslet maintainers <maintainers@lenslet.invalid>" CACHE STRING
    "Maintainer of the Debian packages, as 'Name <address>'")
mark_as_advanced(LENSLET_PACKAGE_CONTACT)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "${LENSLET_PACKAGE_CONTACT}")
set(CPACK_PACKAGE_VENDOR Lenslet)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_THREADS 0)  # use all cores

set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # else the project's description would precede the packages' own

# finish_deb.cmake adds Depends and Recommends. Libraries of NVIDIA's own archive are Suggests, because Debian lacks
# them.
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME lenslet)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION science)
set(suggests python3-matplotlib)  # for lenslet report, convbench report and --report
if(LENSLET_HAS_CUDA)
  list(APPEND suggests "libcublas-${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR}")
endif()
if(TARGET CUDNN::cudnn)
  list(APPEND suggests "libcudnn9-cuda-${CUDAToolkit_VERSION_MAJOR}")
endif()
if(LENSLET_HAS_MPI)
  list(APPEND suggests openmpi-bin)  # for lenslet eval under mpirun
endif()
list(JOIN suggests ", " CPACK_DEBIAN_RUNTIME_PACKAGE_SUGGESTS)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "LeNet-5 inference with interchangeable convolution backends
Lenslet reads handwritten digits with LeNet-5, on the CPU or on an NVIDIA GPU,
and times every layer. Each convolution takes its algorithm from a registry of
interchangeable backends: direct, im2col and GEMM, implicit GEMM, sliced-K,
Winograd, tensor cores, depthwise, cuDNN, oneDNN. The trained weights are
built in.

The package has the programs lenslet and convbench and the shared library
liblenslet. The backends of oneDNN, cuDNN and cuBLAS are modules, opened when
one is first used, so that their libraries need not be installed.")
# Runs ldconfig when the library is installed or removed; programs that link to it depend on this package.
file(WRITE "${PROJECT_BINARY_DIR}/packaging/triggers" "activate-noawait ldconfig\n")
file(WRITE "${PROJECT_BINARY_DIR}/packaging/shlibs" "liblenslet 0 lenslet (>= ${PROJECT_VERSION})\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA
    "${PROJECT_BINARY_DIR}/packaging/triggers;${PROJECT_BINARY_DIR}/packaging/shlibs")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME liblenslet-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DEPENDS runtime)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "zlib1g-dev, libjpeg-dev")  # of the static libraries
if(LENSLET_HAS_CUDA)  # the static libraries need the toolkit that they were built with
  set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS
      "cuda-toolkit-${CUDAToolkit_VERSION_MAJOR}-${CUDAToolkit_VERSION_MINOR}")
endif()
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "LeNet-5 inference with interchangeable convolution backends - development
Headers for C and C++, static libraries, and the files by which CMake and
pkg-config find Lenslet.")

set(CPACK_LENSLET_SOURCE_DIR "${PROJECT_SOURCE_DIR}")
set(CPACK_PRE_BUILD_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}/finish_deb.cmake")
include(CPack)
