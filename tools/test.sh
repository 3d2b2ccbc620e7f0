#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: test.sh
# Install what the tests need, build everything with warnings as errors, and run all tests: the
# parsers, the walker, the formats and the fuzz corpora under AddressSanitizer and UBSan first,
# then everything in the release build, the tests on the running kernel included where there is
# root and BPF. Ends with ctest's own closing lines; what was skipped is listed before them.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)

say() {
	printf '\n=== %s\n' "$*"
}

build() { # PRESET
	say "build: $1"
	cmake --preset "$1" -DBUILD_TESTING=ON
	cmake --build --preset "$1" -j "$jobs"
}

# run PRESET CTEST_ARGUMENT...: the closing lines of ctest come last, behind the skipped tests.
run() {
	local preset=$1 status=0
	local log=build/$preset/ctest.log
	shift
	say "test: $preset"
	ctest --preset "$preset" --no-tests=error "$@" </dev/null 2>&1 | tee "$log" |
		sed -u '/% tests passed/,$d' || status=$?
	local skipped
	skipped=$(sed -n 's/^\(SKIP.*\|\[  SKIPPED \].*\)/  \1/p' \
		"build/$preset/Testing/Temporary/LastTest.log" | sort -u)
	[ -z "$skipped" ] || printf 'Skipped:\n%s\n' "$skipped"
	local again
	again=$(sed -n '/\*\*\*Skipped/!s/.*Test *#[0-9]*: \([^ ]*\) .*\*\*\*.*/  \1/p' "$log" | sort -u)
	[ -z "$again" ] || printf 'Failed at least once (details in %s):\n%s\n' "$log" "$again"
	sed -n '/% tests passed/,$p' "$log"
	return "$status"
}

say "packages"
./tools/setup.sh test
build asan
build release
failed=0
run asan -L 'unit|golden|fuzz' -LE 'root|slow' -j "$jobs" || failed=1
# Tests on the running kernel judge hundreds of samples each: one that hits a task in the middle of
# a change nobody thought of must not hide the rest of the run. A second failure is a failure, and
# what failed once is listed above the closing lines.
run release -j "$jobs" --repeat until-pass:2 || failed=1
exit "$failed"
