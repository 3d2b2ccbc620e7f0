#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: quickstart.sh
# Install what the build needs, build fpless, and profile a program as Debian ships it, built
# without frame pointers: perl, counting the words of fpless's own source.
set -eu
cd "$(dirname "$0")/.."

./tools/setup.sh build
# A folder of its own: build/release stays one with tests.
cmake --preset release -B build/quickstart -DBUILD_TESTING=OFF
cmake --build build/quickstart --target fpless

set -- build/quickstart/fpless profile -F 999 -- perl tools/most-used-words.pl src unwind symbolize
printf '\n+ %s\n\n' "$*"
[ "$(id -u)" = 0 ] || set -- sudo "$@"
exec "$@"
