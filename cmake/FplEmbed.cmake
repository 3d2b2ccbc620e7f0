# SPDX-License-Identifier: Apache-2.0
# fpl_embed(<target> <header> <symbol> <file>...): the header has the bytes of the files, one behind the other, as
# `static const char symbol[]`, NUL-terminated. Run as a script it writes the header.
if(CMAKE_SCRIPT_MODE_FILE)
  set(bytes)
  foreach(file IN LISTS SOURCES)
    file(READ ${file} hex HEX)
    string(REGEX REPLACE "(..)" "0x\\1," hex "${hex}")
    string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" hex
      "${hex}")
    string(APPEND bytes "${hex}\n")
  endforeach()
  file(WRITE ${OUT} "static const char ${SYMBOL}[] = {\n${bytes}0 };\n")
  return()
endif()

set(FPL_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_FILE})

function(fpl_embed target header symbol)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${header})
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  add_custom_command(OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DSYMBOL=${symbol} "-DSOURCES=${ARGN}" -P ${FPL_EMBED_SCRIPT}
    DEPENDS ${ARGN} ${FPL_EMBED_SCRIPT} VERBATIM)
  target_sources(${target} PRIVATE ${out})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR})
endfunction()
