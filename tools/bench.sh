#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: bench.sh [programs|unwinders|releases|large-frames [OPTION...]]
# Install the benchmarks' programs and run every benchmark, as root on a quiet machine: compiling
# tables, walking, walking twice, naming, whole machines. Minutes. `programs`: how complete the
# stacks of some 90 real programs are, beside perf's, 45 minutes at most; it writes the tables of
# docs/languages.md and README.md. Its options are in tests/bench/programs/run.py. `unwinders`: the
# test programs of libunwind, gdb, elfutils and LLVM, 6 minutes; `releases`: each release of Debian,
# and musl, 6 minutes, 2.5 GB (programs/releases.py); `large-frames`: first runs of programs whose frames
# no snapshot holds, 4 minutes; OPTION as in tests/bench/large_frames/run.py.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1-}" in
programs | unwinders | releases)
	script=tests/bench/programs/run.py
	[ "$1" != unwinders ] || script=tests/bench/unwinders/run.py
	[ "$1" != releases ] || script=tests/bench/programs/releases.py
	[ "$1" != unwinders ] || ./tools/setup.sh bench
	shift
	./tools/setup.sh test
	cmake --preset release -DBUILD_TESTING=ON
	cmake --build --preset release
	exec python3 "$script" build/release/fpless "$@"
	;;
esac

./tools/setup.sh bench
cmake --preset release -DBUILD_TESTING=ON
cmake --build --preset release
if [ "${1-}" = large-frames ]; then
	shift
	exec python3 tests/bench/large_frames/run.py build/release/fpless "$@"
fi
cmake --build --preset release --target bench_walker bench_windows

run() {
	printf '\n=== %s\n' "$1"
	"$@"
}

cat /proc/loadavg
run build/release/tests/bench/compile/bench_compile
run build/release/tests/bench/coverage/bench_coverage
run build/release/tests/bench/walker/bench_walker
run python3 tests/bench/walker/run.py build/release
run python3 tests/bench/startup/run.py build/release/fpless
run python3 tests/bench/own_cost/run.py build/release/fpless
run python3 tests/bench/top/run.py build/release/fpless
run python3 tests/bench/table_cache/run.py build/release/fpless
run python3 tests/bench/names_cache/run.py build/release/fpless
run python3 tests/bench/compare/run.py build/release
run python3 tests/bench/symbolize/run.py build/release
run python3 tests/bench/lines/run.py build/release
run python3 tests/bench/pictures/run.py build/release/fpless
run python3 tests/bench/diff/run.py build/release/fpless
run python3 tests/bench/many_stacks/run.py build/release/fpless
run python3 tests/bench/diff/noise.py build/release/fpless
run python3 tests/bench/html/run.py build/release/fpless
run python3 tests/bench/machine/run.py build/release/fpless
run python3 tests/bench/mixed/run.py build/release/fpless
run python3 tests/bench/large_frames/run.py build/release/fpless
run python3 tests/bench/hostile/run.py build/release/fpless build/release/fixtures
cat /proc/loadavg
