# Run as a script: installs the build tree BUILD below WORK, then configures,
# builds and runs the project in consumer/ against it.

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

set(prefix ${WORK}/prefix)
file(REMOVE_RECURSE ${prefix} ${WORK}/consumer ${WORK}/parts
     ${WORK}/decode ${WORK}/comb)
run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

# Moved, so that only paths relative to the package can work.
file(REMOVE_RECURSE ${prefix}-moved)
file(RENAME ${prefix} ${prefix}-moved)
set(prefix ${prefix}-moved)

run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/consumer -B ${WORK}/consumer
    -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_BUILD_TYPE=Release -D CMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${WORK}/consumer)
run(${WORK}/consumer/consumer)
run(${WORK}/consumer/consumer_of_everything)

# A program with parts from outside the project, which its own ctest proves.
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/../../examples/parts
    -B ${WORK}/parts -G ${GENERATOR} -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_BUILD_TYPE=Release -D CMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${WORK}/parts)
run(${WORK}/parts/my_banyan list first_draws)
run(${WORK}/parts/my_banyan exact ${CMAKE_CURRENT_LIST_DIR}/../../examples/parts/exact.yaml)
# A policy from outside is drawn, sized and reported as the project's own.
set(parts ${CMAKE_CURRENT_LIST_DIR}/../../examples/parts)
function(expect pattern)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE out ERROR_VARIABLE err
                  COMMAND_ERROR_IS_FATAL ANY)
  if(NOT out MATCHES "${pattern}")
    message(FATAL_ERROR "${ARGN}: no '${pattern}' in:\n${out}${err}")
  endif()
endfunction()
expect("comb, 6 drafted nodes" ${WORK}/parts/my_banyan tree ${parts}/comb.yaml)
expect("comb_measured" ${WORK}/parts/my_banyan run ${parts}/run.yaml
       --out ${WORK}/comb)
expect("comb, size=6" ${WORK}/parts/my_banyan report ${WORK}/comb)
set(ENV{GTEST_FILTER} "*firstdraws*3Letters1*:*again*2Letters1*")  # the quick ones
run(${CMAKE_CTEST_COMMAND} --test-dir ${WORK}/parts --no-tests=error
    --output-on-failure)

# And the example of the libraries.
set(root ${CMAKE_CURRENT_LIST_DIR}/../..)
run(${CMAKE_COMMAND} -S ${root}/examples/decode -B ${WORK}/decode -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${COMPILER} -D CMAKE_BUILD_TYPE=Release
    -D CMAKE_PREFIX_PATH=${prefix})
run(${CMAKE_COMMAND} --build ${WORK}/decode)
run(${WORK}/decode/decode ${root}/models/pycode-target
    ${root}/configs/methods/specinfer_2.yaml "def add(a, b):")

if(EXISTS ${prefix}/bin/banyan)
  run(${prefix}/bin/banyan --help)
endif()

# The schema of record files, for readers in other languages.
if(NOT EXISTS ${prefix}/include/banyan/experiments/records/record.proto)
  message(FATAL_ERROR "record.proto is not installed")
endif()

# The way this project is built is nobody else's business.
file(GLOB package ${prefix}/lib*/cmake/banyan/*.cmake
     ${prefix}/lib*/*/cmake/banyan/*.cmake)
foreach(file IN LISTS package)
  file(READ ${file} text)
  foreach(word banyan_warnings Werror ${BUILD})
    string(FIND "${text}" "${word}" found)
    if(NOT found EQUAL -1)
      message(FATAL_ERROR "${file} mentions ${word}")
    endif()
  endforeach()
endforeach()
