#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: test.sh
# Install what the tests need, build everything with warnings as errors, and run all tests: the
# parsers, the walker, the formats and the fuzz corpora under AddressSanitizer and UBSan first,
# then everything in the release build, the tests on the running kernel included where there is
# root and BPF. Each test runs once: what fails by chance is mended, or listed in
# tests/quarantine.txt with its cause. Ends with ctest's own closing lines; what was skipped, the
# slowest tests and the duration of everything are listed before them.
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

# The names of tests/quarantine.txt as a regular expression for ctest; empty: there is not one.
quarantined() {
	awk '!/^#/ && NF { printf "%s%s", sep, $1; sep = "|" }' tests/quarantine.txt
}

# slowest LOG: the ten tests of a log of ctest that took longest.
slowest() {
	sed -n 's|^ *[0-9]*/[0-9]* Test *#[0-9]*: \([^ ]*\) .* \([0-9.]*\) sec.*|\2 s  \1|p' "$1" | sort -rn | sed 's/^/  /;10q'
}

# run PRESET CTEST_ARGUMENT...: all tests that are asked for. Those in quarantine come first, and what they say changes
# nothing. A test that fails is run again, alone, twice at most, and is named at the end: of some 60 tests that sample
# programs on the running kernel about four in a run still fail by chance, and one must not hide the rest.
# The closing lines of ctest come last, behind what was skipped and what took longest.
run() {
	local preset=$1 status=0 skipped apart again closing=build/$1/ctest.log
	local log=build/$preset/ctest.log last=build/$preset/Testing/Temporary/LastTest.log
	shift
	apart=$(quarantined)
	if [ -n "$apart" ]; then
		say "test: $preset, in quarantine (tests/quarantine.txt)"
		ctest --preset "$preset" "$@" -R "^($apart)\$" </dev/null || true
		set -- "$@" -E "^($apart)\$"
	fi
	say "test: $preset"
	ctest --preset "$preset" --no-tests=error "$@" </dev/null 2>&1 | tee "$log" |
		sed -u '/% tests passed/,$d' || status=$?
	again=$(sed -n '/\*\*\*Skipped/!s/.*Test *#[0-9]*: \([^ ]*\) .*\*\*\*.*/  \1/p' "$log" | sort -u)
	cp "$last" "$last.first"
	if [ "$status" != 0 ] && [ -s "build/$preset/Testing/Temporary/LastTestsFailed.log" ]; then
		sed -n '/% tests passed/,$p' "$log"
		say "test: $preset, what failed, alone"
		status=0
		ctest --preset "$preset" --rerun-failed --repeat until-pass:2 </dev/null 2>&1 | tee "$log.again" |
			sed -u '/% tests passed/,$d' || status=$?
		closing=$log.again
	fi
	skipped=$(sed -n 's/^\(SKIP.*\|\[  SKIPPED \].*\)/  \1/p; s/.* \.\.\. skipped \(.*\)/  \1/p' "$last.first" |
		sort | uniq -c)
	[ -z "$skipped" ] || printf 'Skipped:\n%s\n' "$skipped"
	[ -z "$again" ] || printf 'Failed at least once:\n%s\n' "$again"
	printf 'Slowest of %s:\n%s\n' "$preset" "$(slowest "$log")"
	printf 'All since the beginning: %d min %d s\n\n' $((SECONDS / 60)) $((SECONDS % 60))
	sed -n '/% tests passed/,$p' "$closing"
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
