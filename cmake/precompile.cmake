# Headers that most files use, compiled once: half of what a small file costs is
# reading them. A source still includes what it uses, which the compiler cannot tell
# here: scripts/check_precompiled.py does.

# banyan_precompiled(NAME LINKS x y OPTIONS o HEADERS h ...): a target whose headers
# banyan_precompile may hand to others, with the options that they were compiled with.
function(banyan_precompiled name)
  cmake_parse_arguments(ARG "" "" "LINKS;OPTIONS;HEADERS" ${ARGN})
  set(${name}_OPTIONS ${ARG_OPTIONS} PARENT_SCOPE)
  if(NOT BANYAN_PRECOMPILE)
    return()
  endif()
  set(source ${PROJECT_BINARY_DIR}/${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "" @ONLY)
  add_library(${name} OBJECT ${source})
  target_compile_features(${name} PUBLIC cxx_std_20)
  target_link_libraries(${name} PRIVATE banyan_warnings ${ARG_LINKS})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # For ccache, which else cannot tell what a file reads.
    target_compile_options(${name} PRIVATE -fpch-preprocess)
  endif()
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# The target's files begin with the headers of banyan_precompiled NAME.
function(banyan_precompile target name)
  target_compile_options(${target} PRIVATE ${${name}_OPTIONS})
  if(NOT BANYAN_PRECOMPILE)
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE
                           $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${name})
endfunction()

set(BANYAN_COMMON_HEADERS
  <algorithm> <array> <cmath> <cstddef> <cstdint> <functional> <limits> <map>
  <memory> <numeric> <optional> <set> <string> <utility> <variant> <vector>
  <absl/functional/function_ref.h> <core/base/common.h>)
set(BANYAN_COMMON_LINKS absl::function_ref absl::status absl::statusor
    absl::strings absl::str_format absl::span)
banyan_precompiled(banyan_common LINKS ${BANYAN_COMMON_LINKS}
                   HEADERS ${BANYAN_COMMON_HEADERS})
banyan_precompiled(banyan_common_cold LINKS ${BANYAN_COMMON_LINKS}
                   OPTIONS ${BANYAN_COLD_OPTIONS} HEADERS ${BANYAN_COMMON_HEADERS})
