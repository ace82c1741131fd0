# BANYAN_MPI: whether several processes can share a target (mpirun). ON where MPI is
# found. Only its C functions are used.
if(NOT DEFINED BANYAN_MPI OR BANYAN_MPI)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI QUIET COMPONENTS CXX)
  option(BANYAN_MPI "Share targets between processes (MPI)" ${MPI_CXX_FOUND})
  if(BANYAN_MPI AND NOT MPI_CXX_FOUND)
    message(FATAL_ERROR "BANYAN_MPI: no MPI was found")
  endif()
endif()
message(STATUS "Targets shared between processes: ${BANYAN_MPI}")
