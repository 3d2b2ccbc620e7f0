#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: quickstart.sh
# Install what the build needs, build fpless and its manual, and profile a program as Debian ships
# it, built without frame pointers: perl, counting the words of fpless's own source. The stacks are
# shown as text, and kept as a picture.
set -eu
cd "$(dirname "$0")/.."

./tools/setup.sh build
# A folder of its own: build/release stays one with tests.
cmake --preset release -B build/quickstart -DBUILD_TESTING=OFF
cmake --build build/quickstart

picture=build/quickstart/flame.svg
set -- build/quickstart/fpless profile -F 999 -o "$picture" -o - --format text -- \
	perl tools/most-used-words.pl src unwind symbolize
printf '\n+ %s\n\n' "$*"
[ "$(id -u)" = 0 ] || set -- sudo "$@"
"$@"
printf '\nThe same as a flame graph, for any browser: %s\n' "file://$PWD/$picture"
