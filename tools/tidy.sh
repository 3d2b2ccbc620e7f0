#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tidy.sh [FILE...]
# Run clang-tidy-16 over the given C files, or over all of them, with build/release's compile
# commands. Minutes, not seconds: not part of the test run.
set -eu
cd "$(dirname "$0")/.."
cmake --preset release >/dev/null
if [ $# -eq 0 ]; then
	# shellcheck disable=SC2046
	set -- $(find src unwind symbolize -name '*.c')
fi
exec clang-tidy-16 -p build/release --quiet "$@"
