#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: quickstart.sh
# Install what the build needs, build fpless, and profile a program as Debian ships it: clang, a
# compiler, which is built without frame pointers, on one of fpless's own files.
set -eu
cd "$(dirname "$0")/.."

./tools/setup.sh build
cmake --preset release -DBUILD_TESTING=OFF
cmake --build --preset release --target fpless

# shellcheck disable=SC2016
work='for file in src/output/*.c; do clang-16 -O3 -std=gnu17 -D_GNU_SOURCE -I. -Isrc -S -o /dev/null $file; done'
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo
printf "\n+ build/release/fpless profile -F 999 -- sh -c '%s'\n\n" "$work"
exec $as_root build/release/fpless profile -F 999 -- sh -c "$work"
