# SPDX-License-Identifier: Apache-2.0
# fpl_add_source_digest(<target> <header> <macro> <file>...): the header defines the macro as the first half of the
# SHA-256 of the files, in hex; it changes whenever one of them does. Run as a script it writes the header.
if(CMAKE_SCRIPT_MODE_FILE)
  set(digests)
  foreach(file IN LISTS SOURCES)
    file(SHA256 ${file} digest)
    string(APPEND digests ${digest})
  endforeach()
  string(SHA256 digest "${digests}")
  string(SUBSTRING ${digest} 0 32 digest)
  file(WRITE ${OUT} "#define ${MACRO} \"${digest}\"\n")
  return()
endif()

set(FPL_SOURCE_DIGEST_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(fpl_add_source_digest target header macro)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${header})
  list(SORT ARGN)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DMACRO=${macro} "-DSOURCES=${ARGN}"
            -P ${FPL_SOURCE_DIGEST_SCRIPT}
    DEPENDS ${ARGN} ${FPL_SOURCE_DIGEST_SCRIPT} VERBATIM)
  target_sources(${target} PRIVATE ${out})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()
