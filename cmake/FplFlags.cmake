# SPDX-License-Identifier: Apache-2.0
# The flags every target of the project is built with: link fpl_flags, set nothing directory-wide.
option(FPL_WERROR "Warnings are errors (on in the presets, off for packagers)" OFF)
option(FPL_FUZZ "Build the fuzz targets with libFuzzer instead of the corpus replay" OFF)
set(FPL_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize= takes them")

# What is built does not depend on where it is.
set(FPL_PATH_FLAGS
  $<$<NOT:$<CONFIG:Debug>>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>
  $<$<NOT:$<CONFIG:Debug>>:-ffile-prefix-map=${PROJECT_BINARY_DIR}=build>)

# Checks at run time, in what is optimised.
set(FPL_HARDENING $<$<CONFIG:RelWithDebInfo,Release>:-fstack-protector-strong>)
if(NOT FPL_SANITIZE) # a sanitizer wants to see the plain calls
  list(APPEND FPL_HARDENING $<$<CONFIG:RelWithDebInfo,Release>:-D_FORTIFY_SOURCE=3>)
endif()

add_library(fpl_flags INTERFACE)
target_compile_features(fpl_flags INTERFACE c_std_17)
target_compile_definitions(fpl_flags INTERFACE _GNU_SOURCE FPL_VERSION="${PROJECT_VERSION}")
target_include_directories(fpl_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
target_compile_options(fpl_flags INTERFACE
  -std=gnu17 -fPIE
  ${FPL_PATH_FLAGS}
  -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wstrict-prototypes -Wmissing-prototypes
  -Wundef -Wvla -Wformat=2 -Wimplicit-fallthrough
  $<$<BOOL:${FPL_WERROR}>:-Werror>
  ${FPL_HARDENING})
target_link_options(fpl_flags INTERFACE -pie -Wl,-z,relro,-z,now)
if(FPL_SANITIZE)
  target_compile_options(fpl_flags INTERFACE -fsanitize=${FPL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(fpl_flags INTERFACE -fsanitize=${FPL_SANITIZE})
endif()
if(FPL_FUZZ)
  target_compile_options(fpl_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
