# The helpers every folder uses.

# banyan_together(TARGET): its sources are compiled BANYAN_TOGETHER at a time.
function(banyan_together target)
  if(BANYAN_TOGETHER GREATER 1)
    set_target_properties(${target} PROPERTIES
      UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${BANYAN_TOGETHER})
  endif()
endfunction()

# banyan_library(NAME FOLDERS . sub SOURCES made.cc DEPS x y): one static library
# of every .cc in FOLDERS, which are relative to the calling folder, so that a new
# file needs no line; SOURCES are files that stand elsewhere. Exported as
# banyan::NAME. DEPS are the folders it may use (the table in scripts/layers.txt)
# and third-party targets, private to it; only Abseil, whose types stand in the
# contracts, is passed on to its users. PRECOMPILED names other headers than
# banyan_common's (cmake/precompile.cmake).
function(banyan_library name)
  cmake_parse_arguments(ARG "SEPARATE" "PRECOMPILED" "FOLDERS;SOURCES;DEPS" ${ARGN})
  if(NOT ARG_PRECOMPILED)
    set(ARG_PRECOMPILED banyan_common)
  endif()
  foreach(folder IN LISTS ARG_FOLDERS)
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cc)
    if(NOT sources)
      message(FATAL_ERROR "${name}: no .cc in ${folder}")
    endif()
    list(APPEND ARG_SOURCES ${sources})
  endforeach()
  add_library(banyan_${name} STATIC ${ARG_SOURCES})
  add_library(banyan::${name} ALIAS banyan_${name})
  target_include_directories(
    banyan_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                          $<INSTALL_INTERFACE:${BANYAN_INCLUDEDIR}>)
  target_compile_features(banyan_${name} PUBLIC cxx_std_20)
  set(abseil ${ARG_DEPS})
  list(FILTER abseil INCLUDE REGEX "^absl::")
  list(FILTER ARG_DEPS EXCLUDE REGEX "^absl::")
  target_link_libraries(banyan_${name} PUBLIC ${abseil} PRIVATE ${ARG_DEPS}
                        $<BUILD_INTERFACE:banyan_warnings>)
  banyan_precompile(banyan_${name} ${ARG_PRECOMPILED})
  if(NOT ARG_SEPARATE)
    banyan_together(banyan_${name})
  endif()
  set_target_properties(banyan_${name} PROPERTIES EXPORT_NAME ${name})
  # What cmake/install.cmake installs, and the packages that asks for.
  set_property(GLOBAL APPEND PROPERTY BANYAN_LIBRARIES banyan_${name})
  set_property(GLOBAL APPEND PROPERTY BANYAN_DEPS ${abseil} ${ARG_DEPS})
endfunction()

# Loops over weights, activations and whole distributions.
set(BANYAN_KERNEL_OPTIONS
    "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O3>")
# A test calls what is optimised more than it computes. So do the rooms that read
# files and records, where builds spend their time on optimisation.
set(BANYAN_COLD_OPTIONS $<$<CONFIG:RelWithDebInfo>:-O0> $<$<CONFIG:Release>:-O1>)

# banyan_label(PROGRAM l ...): what the targets l_tests build.
function(banyan_label program)
  foreach(label IN LISTS ARGN)
    if(NOT TARGET ${label}_tests)
      add_custom_target(${label}_tests)
    endif()
    add_dependencies(${label}_tests ${program})
  endforeach()
endfunction()

# banyan_test(NAME [COMPUTES] SOURCES a_test.cc DEPS ... LABELS l ...): one GoogleTest
# program. With COMPUTES it is optimised as what it tests, since it computes as much.
# CTest gives its tests the labels, joined by + (discovered tests take one alone), and
# the target l_tests builds the programs of each.
function(banyan_test name)
  cmake_parse_arguments(ARG "COMPUTES;SEPARATE" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE banyan_warnings ${ARG_DEPS}
                                        GTest::gmock_main)
  if(ARG_COMPUTES)
    banyan_precompile(${name} banyan_common)
  else()
    banyan_precompile(${name} banyan_common_tests)
  endif()
  if(NOT ARG_SEPARATE)
    banyan_together(${name})
  endif()
  set(properties "")
  if(ARG_LABELS)
    banyan_label(${name} ${ARG_LABELS})
    list(JOIN ARG_LABELS "+" labels)
    set(properties PROPERTIES LABELS "${labels}")
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
                       WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} ${properties})
endfunction()
