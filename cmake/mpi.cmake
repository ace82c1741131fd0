# BANYAN_MPI: whether several processes can share a target (mpirun). AUTO, the default,
# is decided at every configuration: ON where MPI is found. Only its C functions are used.
set(BANYAN_MPI AUTO CACHE STRING "Share targets between processes (MPI): ON, OFF, AUTO")
if(BANYAN_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  if(BANYAN_MPI STREQUAL AUTO)
    set(BANYAN_MPI ${MPI_CXX_FOUND})
  elseif(NOT MPI_CXX_FOUND)
    message(FATAL_ERROR "BANYAN_MPI: no MPI was found; scripts/setup cluster installs it")
  endif()
endif()
message(STATUS "Targets shared between processes: ${BANYAN_MPI}")
