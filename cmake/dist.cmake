# banyan_dist: the program as scripts/dist gives it away. It is linked from the same
# libraries, but with the static ones of others where there are some, so that it runs where
# none of them is installed; and without MPI, whose launcher belongs to a machine.
add_executable(banyan_dist
  experiments/main.cc experiments/own_parts.cc core/device/ranks/mpi.cc
  experiments/dist/stand_ins.cc)
set_target_properties(banyan_dist PROPERTIES EXCLUDE_FROM_ALL ON)
target_link_libraries(banyan_dist PRIVATE banyan_warnings
  banyan::experiments_commands banyan::records_proto hwy::hwy)
target_link_options(banyan_dist PRIVATE -static-libstdc++ -static-libgcc
                    "LINKER:--disable-new-dtags,-rpath,$ORIGIN/lib")
set_target_properties(banyan_dist PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
  RULE_LAUNCH_LINK "python3 ${PROJECT_SOURCE_DIR}/cmake/link_static.py")
