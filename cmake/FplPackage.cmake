# SPDX-License-Identifier: Apache-2.0
# `cpack` in the build folder makes the .debs that debian/rules makes, from the same facts: version and date are those of
# debian/changelog, the rest is debian/control's. What debhelper does to the files, FplPackageFiles.cmake does. A package is
# a component: what no other one has is fpless.
file(READ ${PROJECT_SOURCE_DIR}/debian/control control)
file(STRINGS ${PROJECT_SOURCE_DIR}/debian/changelog heading LIMIT_COUNT 1)

string(REGEX REPLACE "^fpless \\(([^)]*)\\).*" "\\1" CPACK_PACKAGE_VERSION "${heading}")
if(NOT CPACK_PACKAGE_VERSION VERSION_EQUAL PROJECT_VERSION)
  message(FATAL_ERROR "debian/changelog is of ${CPACK_PACKAGE_VERSION}, the project of ${PROJECT_VERSION}")
endif()

# fpl_control_field(<text> <name> <variable>): a field of a part of debian/control, on one line.
function(fpl_control_field text name variable)
  string(REGEX MATCH "(^|\n)${name}: ([^\n]*)" line "${text}")
  set(${variable} "${CMAKE_MATCH_2}" PARENT_SCOPE)
endfunction()

# fpl_package_script(<package> <name> <text>): a script of the package, which debhelper completes for its own.
function(fpl_package_script package name text)
  set(path ${PROJECT_BINARY_DIR}/package/${package}/${name})
  file(WRITE ${path} "${text}")
  file(CHMOD ${path} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endfunction()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL fpless agent)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "") # each package has its own
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
fpl_control_field("${control}" Section CPACK_DEBIAN_PACKAGE_SECTION)
fpl_control_field("${control}" Priority CPACK_DEBIAN_PACKAGE_PRIORITY)
fpl_control_field("${control}" Maintainer CPACK_DEBIAN_PACKAGE_MAINTAINER)

# fpl_package(<package> <component> <paragraph of debian/control>): its name and what it is.
function(fpl_package package component paragraph)
  string(TOUPPER ${component} upper)
  fpl_control_field("${paragraph}" Description summary)
  string(REGEX MATCH "\nDescription: [^\n]*\n(.*)$" text "${paragraph}")
  string(REGEX REPLACE "(^|\n) " "\\1" text "${CMAKE_MATCH_1}")
  string(STRIP "${text}" text)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
endfunction()

# The paragraphs of debian/control, in their order.
string(FIND "${control}" "\nPackage: fpless\n" first)
string(FIND "${control}" "\nPackage: fpless-agent\n" second)
math(EXPR length "${second} - ${first}")
string(SUBSTRING "${control}" ${first} ${length} main)
string(SUBSTRING "${control}" ${second} -1 agent)

fpl_package(fpless fpless "${main}")
fpl_control_field("${main}" Architecture CPACK_DEBIAN_FPLESS_PACKAGE_ARCHITECTURE)
fpl_control_field("${main}" Suggests CPACK_DEBIAN_FPLESS_PACKAGE_SUGGESTS)
set(CPACK_DEBIAN_FPLESS_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FPLESS_PACKAGE_DEPENDS passwd)
set(CPACK_DEBIAN_FPLESS_PACKAGE_CONTROL_EXTRA)
foreach(name postinst postrm)
  file(READ ${PROJECT_SOURCE_DIR}/debian/fpless.${name} script)
  string(REPLACE "#DEBHELPER#\n" "" script "${script}")
  fpl_package_script(fpless ${name} "${script}")
  list(APPEND CPACK_DEBIAN_FPLESS_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/package/fpless/${name})
endforeach()

# The services. `cmake --install` leaves them out: they belong to the system.
fpl_package(fpless-agent agent "${agent}")
fpl_control_field("${agent}" Architecture CPACK_DEBIAN_AGENT_PACKAGE_ARCHITECTURE)
set(CPACK_DEBIAN_AGENT_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_AGENT_PACKAGE_DEPENDS "fpless (= ${CPACK_PACKAGE_VERSION})")
install(FILES debian/fpless-agent.service DESTINATION /lib/systemd/system COMPONENT agent EXCLUDE_FROM_ALL)
install(FILES debian/fpless-agent.fpless-serve.service DESTINATION /lib/systemd/system RENAME fpless-serve.service COMPONENT agent
        EXCLUDE_FROM_ALL)
install(FILES debian/fpless-agent@.fpless-push.service DESTINATION /lib/systemd/system RENAME fpless-push@.service COMPONENT agent
        EXCLUDE_FROM_ALL)
install(FILES docs/grafana/fpless.json DESTINATION share/fpless/grafana COMPONENT agent EXCLUDE_FROM_ALL)
install(FILES debian/agent.conf DESTINATION /etc/fpless COMPONENT agent EXCLUDE_FROM_ALL)
set(part_postrm "if [ -d /run/systemd/system ]; then\n\tsystemctl --system daemon-reload || true\nfi\n")
set(part_postinst "if [ \"$1\" = configure ] && [ -d /run/systemd/system ]; then
\tsystemctl --system daemon-reload || true
\t[ -z \"$2\" ] || deb-systemd-invoke try-restart fpless-agent.service fpless-serve.service || true\nfi\n")
set(part_prerm "if [ \"$1\" = remove ] && [ -d /run/systemd/system ]; then
\tdeb-systemd-invoke stop fpless-serve.service fpless-agent.service || true\nfi\n")
foreach(name postinst prerm postrm)
  file(READ ${PROJECT_SOURCE_DIR}/debian/fpless-agent.${name} script)
  string(REPLACE "#DEBHELPER#\n" "${part_${name}}" script "${script}")
  fpl_package_script(fpless-agent ${name} "${script}")
endforeach()
file(WRITE ${PROJECT_BINARY_DIR}/package/fpless-agent/conffiles "/etc/fpless/agent.conf\n")
set(CPACK_DEBIAN_AGENT_PACKAGE_CONTROL_EXTRA)
foreach(name postinst prerm postrm conffiles)
  list(APPEND CPACK_DEBIAN_AGENT_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/package/fpless-agent/${name})
endforeach()

set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/FplPackageFiles.cmake)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/FplPackageBytes.cmake)
set(CPACK_FPL_SOURCE ${PROJECT_SOURCE_DIR})
set(CPACK_FPL_DATE ${FPL_SOURCE_DATE})
include(CPack)
