# SPDX-License-Identifier: Apache-2.0
# Libraries from the distribution; nothing is vendored and nothing is downloaded by the build.
find_package(PkgConfig REQUIRED)
find_package(ZLIB REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(LIBBPF REQUIRED IMPORTED_TARGET libbpf>=1.1)
pkg_check_modules(LIBELF REQUIRED IMPORTED_TARGET libelf)
pkg_check_modules(LIBDW REQUIRED IMPORTED_TARGET libdw)
pkg_check_modules(JSONC REQUIRED IMPORTED_TARGET json-c>=0.16)
pkg_check_modules(LIBDEFLATE REQUIRED IMPORTED_TARGET libdeflate>=1.14)
pkg_check_modules(LIBLZMA REQUIRED IMPORTED_TARGET liblzma)
pkg_check_modules(LIBCAP REQUIRED IMPORTED_TARGET libcap)
pkg_check_modules(LIBZSTD REQUIRED IMPORTED_TARGET libzstd)
find_library(FPL_LIBIBERTY iberty REQUIRED)
