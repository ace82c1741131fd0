# BANYAN_CUDA: whether kernels are compiled for GPUs too, which takes a CUDA Toolkit and
# neither driver nor GPU. Decided at every configuration:
#   ON, OFF
#   DRIVER    the default: where there are a toolkit and a driver of NVIDIA
#   TOOLKIT   where there is a toolkit; the tests' choice
set(BANYAN_CUDA DRIVER CACHE STRING
    "Compile the kernels for GPUs: ON, OFF, DRIVER, TOOLKIT")

# The first that knows C++20 and architecture 9.0a.
set(BANYAN_LEAST_CUDA 12.0)

set(wanted ${BANYAN_CUDA})
if(wanted STREQUAL DRIVER AND NOT EXISTS /proc/driver/nvidia/version)
  set(wanted OFF)
endif()
set(BANYAN_CUDA OFF)
if(wanted)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(BANYAN_NVCC nvcc PATHS /usr/local/cuda/bin)
    mark_as_advanced(BANYAN_NVCC)
    if(BANYAN_NVCC)
      set(ENV{CUDACXX} ${BANYAN_NVCC})
    endif()
  endif()
  set(CMAKE_CUDA_ARCHITECTURES OFF)  # the options name them
  include(CheckLanguage)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    enable_language(CUDA)
    # CMake 3.25 has not heard that nvcc knows it.
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
    find_package(CUDAToolkit QUIET)
    if(TARGET CUDA::cudart_static AND
       CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL BANYAN_LEAST_CUDA)
      set(BANYAN_CUDA ON)
    endif()
  endif()
  if(NOT BANYAN_CUDA AND NOT wanted MATCHES "DRIVER|TOOLKIT")
    message(FATAL_ERROR
      "BANYAN_CUDA: no CUDA Toolkit of ${BANYAN_LEAST_CUDA} or later was found; "
      "CUDACXX may name its nvcc")
  endif()
endif()
message(STATUS "Kernels for GPUs: ${BANYAN_CUDA}")

file(STRINGS cmake/nvcc_options.txt BANYAN_NVCC_OPTIONS REGEX "^-")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
             cmake/nvcc_options.txt)

# banyan_cuda(TARGET a_cuda.cu ...): compiles them for GPUs, as part of a library, whose
# other files are compiled as they are without them.
function(banyan_cuda target)
  add_library(${target}_cuda OBJECT ${ARGN})
  target_include_directories(${target}_cuda PRIVATE ${PROJECT_SOURCE_DIR})
  set_target_properties(${target}_cuda PROPERTIES CUDA_STANDARD 20
                                                  CUDA_STANDARD_REQUIRED ON)
  target_compile_options(${target}_cuda PRIVATE ${BANYAN_NVCC_OPTIONS})
  target_link_libraries(${target}_cuda PRIVATE CUDA::cudart_static)
  target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_cuda>)
  target_link_libraries(${target} INTERFACE $<LINK_ONLY:CUDA::cudart_static>)
endfunction()
