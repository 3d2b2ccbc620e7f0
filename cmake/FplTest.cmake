# SPDX-License-Identifier: Apache-2.0
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

# fpl_add_unit_test(<name> <library>...): tests/unit/<name>.c, one cmocka executable under ctest.
function(fpl_add_unit_test name)
  add_executable(${name} ${name}.c)
  target_link_libraries(${name} PRIVATE fpl_flags ${ARGN} PkgConfig::CMOCKA)
  add_test(NAME unit.${name} COMMAND ${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 600)
endfunction()

# fpl_add_fuzz(<name> <library>...): tests/fuzz/<name>.c; libFuzzer under the fuzz preset, else a
# program that replays fixtures/fuzz/<name>/ as a test.
function(fpl_add_fuzz name)
  if(FPL_FUZZ)
    add_executable(${name} ${name}.c)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${name} ${name}.c replay_main.c)
  endif()
  target_link_libraries(${name} PRIVATE fpl_flags ${ARGN})
  if(FPL_FUZZ)
    add_test(NAME fuzz.${name}
             COMMAND ${name} -runs=0 ${PROJECT_SOURCE_DIR}/fixtures/fuzz/${name})
  else()
    add_test(NAME fuzz.${name} COMMAND ${name} ${PROJECT_SOURCE_DIR}/fixtures/fuzz/${name})
  endif()
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 600)
endfunction()
