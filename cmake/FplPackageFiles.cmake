# SPDX-License-Identifier: Apache-2.0
# Run by cpack on the installed files before they are packed: the documents a package of Debian has, compressed as there,
# and the date of the version on everything.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/fpless/usr)
set(docs ${root}/share/doc/fpless ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/agent/usr/share/doc/fpless-agent)

file(STRINGS ${CPACK_FPL_SOURCE}/debian/fpless.docs documents)
foreach(document IN LISTS documents)
  file(COPY ${CPACK_FPL_SOURCE}/${document} DESTINATION ${root}/share/doc/fpless)
endforeach()
foreach(doc IN LISTS docs)
  file(COPY ${CPACK_FPL_SOURCE}/debian/copyright ${CPACK_FPL_SOURCE}/debian/changelog DESTINATION ${doc})
endforeach()
file(MAKE_DIRECTORY ${root}/share/lintian/overrides)
file(COPY_FILE ${CPACK_FPL_SOURCE}/debian/fpless.lintian-overrides ${root}/share/lintian/overrides/fpless)

file(GLOB_RECURSE plain ${root}/share/man/*.[1-9] ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/*.md
     ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/changelog)
foreach(path IN LISTS plain)
  file(SIZE ${path} bytes)
  if(bytes GREATER_EQUAL 4096 OR NOT path MATCHES "[.]md$") # as dh_compress does
    execute_process(COMMAND gzip -9nf ${path} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endforeach()

# Permissions do not depend on the umask of who builds.
execute_process(COMMAND chmod -R u+rwX,go+rX,go-w ${CPACK_TEMPORARY_INSTALL_DIRECTORY} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND find ${CPACK_TEMPORARY_INSTALL_DIRECTORY} -exec touch -h -d @${CPACK_FPL_DATE} {} +
                COMMAND_ERROR_IS_FATAL ANY)
