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

# run PRESET CTEST_ARGUMENT...: all tests that are asked for; once more, one by one, those that
# failed. The closing lines of ctest come last, behind what was skipped and what had to be repeated.
# Tests on the running kernel judge hundreds of samples each, and the machine is not theirs alone:
# one failure must not hide the rest of the run. What fails again when it is alone has failed.
run() {
	local preset=$1 status=0
	local log=build/$preset/ctest.log
	shift
	say "test: $preset"
	ctest --preset "$preset" --no-tests=error "$@" </dev/null 2>&1 | tee "$log" |
		sed -u '/% tests passed/,$d' || status=$?
	local skipped again
	skipped=$(sed -n 's/^\(SKIP.*\|\[  SKIPPED \].*\)/  \1/p' \
		"build/$preset/Testing/Temporary/LastTest.log" | sort -u)
	again=$(sed -n '/\*\*\*Skipped/!s/.*Test *#[0-9]*: \([^ ]*\) .*\*\*\*.*/  \1/p' "$log" | sort -u)
	if [ "$status" != 0 ] && [ -s "build/$preset/Testing/Temporary/LastTestsFailed.log" ]; then
		sed -n '/% tests passed/,$p' "$log"
		say "test: $preset, what failed, alone"
		status=0
		ctest --preset "$preset" --rerun-failed --repeat until-pass:2 </dev/null 2>&1 | tee "$log.again" |
			sed -u '/% tests passed/,$d' || status=$?
		log=$log.again
	fi
	[ -z "$skipped" ] || printf 'Skipped:\n%s\n' "$skipped"
	[ -z "$again" ] || printf 'Failed at least once:\n%s\n' "$again"
	sed -n '/% tests passed/,$p' "$log"
	return "$status"
}

say "packages"
./tools/setup.sh test
build asan
build release
failed=0
run asan -L 'unit|golden|fuzz' -LE 'root|slow' -j "$jobs" || failed=1
run release -j "$jobs" || failed=1
exit "$failed"
