# banyan_program(NAME PARTS a.cc ...): the program NAME is `banyan` with parts of your
# own. PARTS define banyan::OwnParts() (experiments/commands/program.h).
#
# Where GTest is installed, NAME_proofs proves these parts by the project's own suites:
# it enumerates all that a verifier or drafter can do with toy models. With
# enable_testing() before, ctest runs it.
function(banyan_program name)
  cmake_parse_arguments(ARG "" "" "PARTS" ${ARGN})
  if(NOT ARG_PARTS)
    message(FATAL_ERROR "banyan_program(${name}): expected PARTS and sources that "
            "define banyan::OwnParts()")
  endif()
  add_executable(${name} ${BANYAN_SOURCES}/main.cc ${ARG_PARTS})
  target_link_libraries(${name} PRIVATE banyan::experiments_commands
                                        banyan::drafters banyan::verifiers
                                        banyan::tree)
  # A formula rounds alike everywhere: no fused multiply-add of the compiler's own.
  target_compile_options(${name} PRIVATE -ffp-contract=off)

  find_package(GTest QUIET)
  if(NOT GTest_FOUND OR NOT EXISTS ${BANYAN_PROOFS_LIBRARY})
    message(STATUS "${name}_proofs is left out: it needs GTest, and a Banyan that was "
            "built with its tests")
    return()
  endif()
  if(NOT TARGET banyan::proofs)
    include(${BANYAN_PROOFS})
  endif()
  add_executable(${name}_proofs ${BANYAN_SOURCES}/proof_main.cc ${ARG_PARTS})
  target_link_libraries(${name}_proofs PRIVATE
    "$<LINK_LIBRARY:WHOLE_ARCHIVE,banyan::proofs>" banyan::experiments_commands
    GTest::gmock)
  target_compile_options(${name}_proofs PRIVATE -ffp-contract=off)
  add_test(NAME ${name}_proofs COMMAND ${name}_proofs)
endfunction()
