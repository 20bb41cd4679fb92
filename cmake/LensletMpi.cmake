# Finds MPI's library as MPI::MPI_CXX and sets LENSLET_HAS_MPI, honouring LENSLET_MPI (AUTO, ON or OFF). Only the module
# `mpi` uses it, through the C interface: the library and the programs never link it.

if(NOT LENSLET_MPI MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "LENSLET_MPI must be AUTO, ON or OFF, found '${LENSLET_MPI}'")
endif()
set(LENSLET_HAS_MPI OFF)
if(LENSLET_MPI STREQUAL "OFF")
  message(STATUS "Lenslet: no ranks of mpirun (LENSLET_MPI=OFF)")
else()
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI 3.0 QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)  # the target exists even where nothing was found
    set(LENSLET_HAS_MPI ON)
    list(JOIN MPI_CXX_LIBRARIES ", " lenslet_mpi_libraries)
    message(STATUS "Lenslet: MPI ${MPI_CXX_VERSION} at ${lenslet_mpi_libraries}, for lenslet eval under mpirun")
  elseif(LENSLET_MPI STREQUAL "ON")
    message(FATAL_ERROR "LENSLET_MPI=ON needs MPI 3.0 or newer, and there is none: install libopenmpi-dev, or put its mpicxx "
                        "on PATH")
  else()
    message(STATUS "Lenslet: no MPI 3.0 or newer, so lenslet eval runs in one process")
  endif()
endif()
