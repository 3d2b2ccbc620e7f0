# SPDX-License-Identifier: Apache-2.0
# fpl_add_call_names(<target> <header>): writes the names of system calls by their numbers, of 64-bit and of 32-bit code, as
# the kernel's headers have them.
function(fpl_add_call_names target header)
  set(content "/* SPDX-License-Identifier: Apache-2.0 */\n#pragma once\n")
  foreach(bits 64 32)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -E -dM -include asm/unistd_${bits}.h -x c /dev/null
      OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "#define __NR_[a-z0-9_]+ [0-9]+" lines "${text}")
    string(APPEND content "\nstatic const char *const call_names_${bits}[] = {\n")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "#define __NR_([a-z0-9_]+) ([0-9]+)" "\t[\\2] = \"\\1\",\n" line "${line}")
      string(APPEND content "${line}")
    endforeach()
    string(APPEND content "};\n")
  endforeach()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/calls)
  file(CONFIGURE OUTPUT ${folder}/naming/${header} CONTENT "${content}" @ONLY)
  target_include_directories(${target} PRIVATE ${folder})
endfunction()
