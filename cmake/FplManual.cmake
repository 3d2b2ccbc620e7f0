# SPDX-License-Identifier: Apache-2.0
# fpl_add_page(<name.section.scd>): a page of the manual in ${PROJECT_BINARY_DIR}/man, its options out of the tables of
# the program, and its installation. Without scdoc there are none.
# fpl_add_completion(<shell> <folder> <file> <link>...): the completions for a shell in ${PROJECT_BINARY_DIR}/completions/<shell>;
# links are for shells that look for a file by the name of the program.
include(GNUInstallDirs)
find_program(SCDOC scdoc)
if(NOT SCDOC)
  message(STATUS "scdoc is missing: the manual pages are left out")
endif()

function(fpl_add_completion shell folder file)
  set(out ${PROJECT_BINARY_DIR}/completions/${shell})
  file(MAKE_DIRECTORY ${out})
  add_custom_command(OUTPUT ${out}/${file}
    COMMAND fpless-manual ${shell} > ${out}/${file}
    DEPENDS fpless-manual VERBATIM)
  add_custom_target(completion_${shell} ALL DEPENDS ${out}/${file})
  install(FILES ${out}/${file} DESTINATION ${folder})
  foreach(link IN LISTS ARGN)
    file(CREATE_LINK ${file} ${out}/${link} SYMBOLIC)
    install(FILES ${out}/${link} DESTINATION ${folder})
  endforeach()
endfunction()

function(fpl_add_page source)
  if(NOT SCDOC)
    return()
  endif()
  set(out ${PROJECT_BINARY_DIR}/man)
  file(MAKE_DIRECTORY ${out})
  cmake_path(GET source STEM LAST_ONLY page)
  cmake_path(GET page EXTENSION LAST_ONLY section)
  string(REPLACE "." "" section ${section})
  add_custom_command(OUTPUT ${out}/${page}
    COMMAND fpless-manual page ${source} > ${out}/${page}.scd
    COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=${FPL_SOURCE_DATE}
            ${SCDOC} < ${out}/${page}.scd > ${out}/${page}
    DEPENDS fpless-manual ${source} VERBATIM)
  add_custom_target(page_${page} ALL DEPENDS ${out}/${page})
  install(FILES ${out}/${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endfunction()
