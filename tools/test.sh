#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: test.sh
# Install what the tests need, build everything with warnings as errors, and run all tests, each once
# (those of golden files twice): the parsers, the walker, the formats, the commands and the fuzz
# corpora under AddressSanitizer and UBSan first, then everything else in the release build, the tests
# on the running kernel included where there is root and BPF. What fails by chance is mended, or listed
# in tests/quarantine.txt with its cause; until then a test that fails is run again. Ends with ctest's
# own closing lines; what was skipped, the slowest tests, the duration of everything and each test that
# needed a second run are listed before them.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)
repeated= # a line for each test that failed in its first run

say() {
	printf '\n=== %s\n' "$*"
}

build() { # PRESET CMAKE_ARGUMENT...
	say "build: $1"
	cmake --preset "$@" -DBUILD_TESTING=ON
	cmake --build --preset "$1" -j "$jobs"
}

# The package tests compile what the release build has compiled, twice: by dpkg-buildpackage in a copy of the tree, and by
# the README's first command in a fresh Debian. ccache compiles it once, 130 of 150 s of CPU less for each of them. A hit
# asks for the same text of all files that are included, the same compiler and flags. Paths are relative to the tree, and
# each build is two folders below it; only what changes no object is not compared: -Werror and the language of messages.
keep_objects() {
	command -v ccache >/dev/null || return 0
	export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_DIR=$PWD/build/ccache CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
	export CCACHE_DEPEND=1 CCACHE_IGNOREOPTIONS=-Werror CCACHE_SLOPPINESS=locale
	mkdir -p "$CCACHE_DIR" # also where the release build was configured before, without it
}

# The names of tests/quarantine.txt as a regular expression for ctest; empty: there is not one.
quarantined() {
	awk '!/^#/ && NF { printf "%s%s", sep, $1; sep = "|" }' tests/quarantine.txt
}

# slowest LOG: the ten tests of a log of ctest that took longest.
slowest() {
	sed -n 's|^ *[0-9]*/[0-9]* Test *#[0-9]*: \([^ ]*\) .* \([0-9.]*\) sec.*|\2 s  \1|p' "$1" | sort -rn | sed 's/^/  /;10q'
}

# failed_in LOG: the names of the tests that a log of ctest has as failed, one a line for each time.
failed_in() {
	sed -n '/\*\*\*Skipped/!s/^[ 0-9/]*Test *#[0-9]*: \([^ ]*\) .*\*\*\*.*/\1/p' "$1"
}

# second_runs PRESET LOG LOG_AGAIN: what became of each test that failed in its first run.
second_runs() {
	local name became
	while read -r name; do
		became="needed a second run, and passed"
		! failed_in "$3" | grep -qxF -- "$name" || became="needed a third run, and passed"
		! grep -F -- " - $name (" "$3" | grep -qvF '(Skipped)' || became="failed in each run"
		printf '  %s: %s: %s\n' "$1" "$name" "$became"
	done < <(failed_in "$2" | sort -u)
}

# run_failed PRESET LOG: what failed by that log once more, two at a time. What takes a minute and more has this run, all else
# a third one, too.
run_failed() {
	local failed status=0
	failed="^($(failed_in "$2" | sort -u | paste -sd '|'))\$"
	ctest --preset "$1" -R "$failed" -LE 'slow|package' --repeat until-pass:2 -j 2 --no-tests=ignore </dev/null 2>&1 || status=$?
	echo
	ctest --preset "$1" -R "$failed" -L 'slow|package' -j 2 --no-tests=ignore </dev/null 2>&1 || status=$?
	return "$status"
}

# run PRESET CTEST_ARGUMENT...: all tests that are asked for. Those in quarantine come first, and what they say changes
# nothing. A test that fails is run again, beside others that failed, and is named at the end: those that sample programs on
# the running kernel may still fail by chance (CONTRIBUTING.md says how often), and one must not hide the rest.
# The closing lines of ctest come last, behind what was skipped and what took longest.
run() {
	local preset=$1 status=0 skipped apart closing=build/$1/ctest.log
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
	cp "$last" "$last.first"
	if [ "$status" != 0 ] && [ -n "$(failed_in "$log")" ]; then
		sed -n '/% tests passed/,$p' "$log"
		say "test: $preset, what failed"
		status=0
		run_failed "$preset" "$log" | tee "$log.again" | sed -u '/% tests passed/,/^Test project/d' || status=$?
		closing=$log.again
		repeated+=$(second_runs "$preset" "$log" "$log.again")$'\n'
	fi
	skipped=$(sed -n 's/^\(SKIP.*\|\[  SKIPPED \].*\)/  \1/p; s/.* \.\.\. skipped \(.*\)/  \1/p' "$last.first" |
		sort | uniq -c)
	[ -z "$skipped" ] || printf 'Skipped:\n%s\n' "$skipped"
	printf 'Slowest of %s:\n%s\n' "$preset" "$(slowest "$log")"
	printf 'All since the beginning: %d min %d s\n\n' $((SECONDS / 60)) $((SECONDS % 60))
	[ -z "$repeated" ] || printf 'TESTS THAT NEEDED A SECOND RUN:\n%s\n' "$repeated"
	awk '/^Test project/ { on = 0 } /% tests passed/ { on = 1 } on' "$closing"
	return "$status"
}

say "packages"
./tools/setup.sh test
build asan
keep_objects
build release -DFPL_UNIT_TESTS=OFF
failed=0
run asan -L 'unit|golden|fuzz' -LE root -j "$jobs" || failed=1
# One more at a time than there are CPUs: tests that sample wait for half of their time.
run release -LE 'unit|fuzz' -j "$((jobs + 1))" || failed=1
exit "$failed"
