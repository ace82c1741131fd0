# The helpers every folder uses.

# banyan_library(NAME SOURCES a.cc b.cc DEPS x y): one static library for the
# calling folder, exported as banyan::NAME. DEPS are the folders it may use (the
# table in scripts/layers) and third-party targets, private to it.
function(banyan_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(banyan_${name} STATIC ${ARG_SOURCES})
  add_library(banyan::${name} ALIAS banyan_${name})
  target_include_directories(
    banyan_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                          $<INSTALL_INTERFACE:include/banyan>)
  target_compile_features(banyan_${name} PUBLIC cxx_std_20)
  target_link_libraries(banyan_${name} PRIVATE banyan_warnings ${ARG_DEPS})
  set_target_properties(banyan_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY BANYAN_LIBRARIES banyan_${name})
endfunction()

# banyan_test(NAME SOURCES a_test.cc DEPS ...): one GoogleTest program.
function(banyan_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE banyan_warnings ${ARG_DEPS}
                                        GTest::gmock_main)
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60
                       WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()
