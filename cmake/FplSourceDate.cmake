# SPDX-License-Identifier: Apache-2.0
# FPL_SOURCE_DATE: what is dated is so by the day of the version, not of the build. Seconds since the epoch.
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  set(FPL_SOURCE_DATE $ENV{SOURCE_DATE_EPOCH})
else()
  file(STRINGS ${PROJECT_SOURCE_DIR}/debian/changelog date REGEX "^ -- " LIMIT_COUNT 1)
  string(REGEX REPLACE "^ -- .*>  " "" date "${date}")
  execute_process(COMMAND date -d ${date} +%s OUTPUT_VARIABLE FPL_SOURCE_DATE
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
endif()
