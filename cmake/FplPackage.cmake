# SPDX-License-Identifier: Apache-2.0
# `cpack` in the build folder makes the .deb that debian/rules makes, from the same facts: version and date are those of
# debian/changelog, the rest is debian/control's. What debhelper does to the files, FplPackageFiles.cmake does.
file(READ ${PROJECT_SOURCE_DIR}/debian/control control)
file(STRINGS ${PROJECT_SOURCE_DIR}/debian/changelog heading LIMIT_COUNT 1)

# fpl_control_field(<name> <variable>): of debian/control, on one line.
function(fpl_control_field name variable)
  string(REGEX MATCH "(^|\n)${name}: ([^\n]*)" line "${control}")
  set(${variable} "${CMAKE_MATCH_2}" PARENT_SCOPE)
endfunction()

string(REGEX REPLACE "^fpless \\(([^)]*)\\).*" "\\1" CPACK_PACKAGE_VERSION "${heading}")
if(NOT CPACK_PACKAGE_VERSION VERSION_EQUAL PROJECT_VERSION)
  message(FATAL_ERROR "debian/changelog is of ${CPACK_PACKAGE_VERSION}, the project of ${PROJECT_VERSION}")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME fpless)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
fpl_control_field(Section CPACK_DEBIAN_PACKAGE_SECTION)
fpl_control_field(Priority CPACK_DEBIAN_PACKAGE_PRIORITY)
fpl_control_field(Maintainer CPACK_DEBIAN_PACKAGE_MAINTAINER)
fpl_control_field(Architecture CPACK_DEBIAN_PACKAGE_ARCHITECTURE)
fpl_control_field(Suggests CPACK_DEBIAN_PACKAGE_SUGGESTS)
fpl_control_field(Description CPACK_PACKAGE_DESCRIPTION_SUMMARY)
string(REGEX MATCH "\nDescription: [^\n]*\n(.*)$" text "${control}")
string(REGEX REPLACE "(^|\n) " "\\1" CPACK_PACKAGE_DESCRIPTION "${CMAKE_MATCH_1}")
string(STRIP "${CPACK_PACKAGE_DESCRIPTION}" CPACK_PACKAGE_DESCRIPTION)

set(CPACK_DEBIAN_PACKAGE_DEPENDS passwd)

# The scripts of the package, without debhelper's mark in them.
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA)
foreach(name postinst postrm)
  file(READ ${PROJECT_SOURCE_DIR}/debian/fpless.${name} script)
  string(REPLACE "#DEBHELPER#\n" "" script "${script}")
  file(WRITE ${PROJECT_BINARY_DIR}/package/${name} "${script}")
  file(CHMOD ${PROJECT_BINARY_DIR}/package/${name}
       PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  list(APPEND CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/package/${name})
endforeach()
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/FplPackageFiles.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/FplPackageBytes.cmake)
set(CPACK_FPL_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_FPL_DATE ${FPL_SOURCE_DATE})
include(CPack)
