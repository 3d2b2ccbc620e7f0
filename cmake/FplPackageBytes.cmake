# SPDX-License-Identifier: Apache-2.0
# Run by cpack on the package it has made: dpkg-deb packs it once more. What cpack's own packer writes depends on the
# umask of who runs it.
foreach(package IN LISTS CPACK_PACKAGE_FILES)
  set(folder ${package}.unpacked)
  execute_process(COMMAND dpkg-deb -R ${package} ${folder} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND chmod 755 ${folder} ${folder}/DEBIAN COMMAND_ERROR_IS_FATAL ANY)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env SOURCE_DATE_EPOCH=${CPACK_FPL_DATE}
            dpkg-deb --root-owner-group -Zxz -b ${folder} ${package}
    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE_RECURSE ${folder})
endforeach()
