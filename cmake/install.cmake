# Installs the libraries, their headers and the program, and exports them: a
# consumer says find_package(banyan) and links banyan::core_prob. Included after
# every library is defined.
include(CMakePackageConfigHelpers)

get_property(libraries GLOBAL PROPERTY BANYAN_LIBRARIES)
get_property(deps GLOBAL PROPERTY BANYAN_DEPS)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/banyan)

set(targets ${libraries})
if(TARGET banyan)
  list(APPEND targets banyan)
endif()
install(TARGETS ${targets} EXPORT banyanTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})

# Headers keep their folders below include/banyan.
foreach(library IN LISTS libraries)
  get_target_property(folder ${library} SOURCE_DIR)
  list(APPEND folders ${folder})
endforeach()
list(REMOVE_DUPLICATES folders)
foreach(folder IN LISTS folders)
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
       ${folder}/*.h)
  foreach(header IN LISTS headers)
    cmake_path(GET header PARENT_PATH parent)
    install(FILES ${header} DESTINATION ${BANYAN_INCLUDEDIR}/${parent})
  endforeach()
endforeach()

# The consumer needs the packages that the libraries, not the program, link.
# Targets are named after their package, up to case (protobuf:: of Protobuf).
set(BANYAN_FIND_DEPENDENCIES "")
string(TOLOWER "${deps}" lower_deps)
foreach(package IN LISTS BANYAN_PACKAGES)
  string(TOLOWER ${package} lower_package)
  if(lower_deps MATCHES "(^|;)${lower_package}(::|;|$)")
    string(APPEND BANYAN_FIND_DEPENDENCIES "find_dependency(${package})\n")
  endif()
endforeach()

if(BANYAN_CUDA)
  string(APPEND BANYAN_FIND_DEPENDENCIES "find_dependency(CUDAToolkit)\n")
endif()

if(BANYAN_MPI)
  string(APPEND BANYAN_FIND_DEPENDENCIES
         "set(MPI_CXX_SKIP_MPICXX ON)\nfind_dependency(MPI COMPONENTS CXX)\n")
endif()

# What banyan_program() compiles.
set(BANYAN_SOURCES ${CMAKE_INSTALL_DATADIR}/banyan)
set(BANYAN_PROOFS_LIBRARY ${CMAKE_INSTALL_LIBDIR}/libbanyan_proofs.a)
install(FILES experiments/main.cc tests/conformance/proof_main.cc
        DESTINATION ${BANYAN_SOURCES})
configure_package_config_file(
  cmake/banyanConfig.cmake.in ${PROJECT_BINARY_DIR}/banyanConfig.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS BANYAN_SOURCES BANYAN_PROOFS_LIBRARY
  NO_SET_AND_CHECK_MACRO NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/banyanConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/banyanConfig.cmake
              ${PROJECT_BINARY_DIR}/banyanConfigVersion.cmake
              cmake/banyan_program.cmake
        DESTINATION ${package_dir})
install(EXPORT banyanTargets NAMESPACE banyan:: DESTINATION ${package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
