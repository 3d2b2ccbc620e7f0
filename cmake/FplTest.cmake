# SPDX-License-Identifier: Apache-2.0
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
include(CheckLinkerFlag)
check_linker_flag(C -fuse-ld=gold FPL_HAVE_GOLD)

# What a hundred and more small programs are built with, behind fpl_flags: they are compiled as fast as can be, for they run
# for milliseconds; what they test is in the libraries, whose flags are the product's. gold links them in half the time.
add_library(fpl_test_flags INTERFACE)
target_compile_options(fpl_test_flags INTERFACE -O0 -U_FORTIFY_SOURCE)
target_link_options(fpl_test_flags INTERFACE $<$<BOOL:${FPL_HAVE_GOLD}>:-fuse-ld=gold>)

# fpl_add_unit_test(<name> <library>...): tests/unit/<name>.c, one cmocka executable under ctest.
function(fpl_add_unit_test name)
  add_executable(${name} ${name}.c)
  target_link_libraries(${name} PRIVATE fpl_flags fpl_test_flags ${ARGN} PkgConfig::CMOCKA)
  add_test(NAME unit.${name} COMMAND ${name})
  set_tests_properties(unit.${name} PROPERTIES LABELS unit TIMEOUT 600)
endfunction()

# fpl_add_fuzz(<name> <library>...): tests/fuzz/<name>.c; libFuzzer under the fuzz preset, else a
# program that replays fixtures/fuzz/<name>/ as a test.
function(fpl_add_fuzz name)
  if(FPL_FUZZ)
    add_executable(${name} ${name}.c)
    target_link_libraries(${name} PRIVATE fpl_flags ${ARGN})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  else()
    add_executable(${name} ${name}.c replay_main.c)
    target_link_libraries(${name} PRIVATE fpl_flags fpl_test_flags ${ARGN})
  endif()
  if(FPL_FUZZ)
    add_test(NAME fuzz.${name}
             COMMAND ${name} -runs=0 ${PROJECT_SOURCE_DIR}/fixtures/fuzz/${name})
  else()
    add_test(NAME fuzz.${name} COMMAND ${name} ${PROJECT_SOURCE_DIR}/fixtures/fuzz/${name})
  endif()
  set_tests_properties(fuzz.${name} PROPERTIES LABELS fuzz TIMEOUT 600)
endfunction()
