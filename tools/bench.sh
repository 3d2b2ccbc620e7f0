#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# usage: bench.sh [programs|unwinders|releases|large-frames|offcpu|heap|sources|java|engines|same-bytes|agent|hours|collector|units|guest [OPTION...]]
# Install the benchmarks' programs and run every benchmark, as root on a quiet machine: compiling
# tables, walking, walking twice, naming, whole machines. Minutes. `programs`: how complete the
# stacks of some 90 real programs are, beside perf's, 45 minutes at most; it writes the tables of
# docs/languages.md and README.md. Its options are in tests/bench/programs/run.py. `unwinders`: the
# test programs of libunwind, gdb, elfutils and LLVM, 6 minutes; `releases`: each release of Debian,
# and musl, 6 minutes, 2.5 GB (programs/releases.py); `large-frames`: first runs of programs whose frames
# no snapshot holds, 4 minutes; OPTION as in tests/bench/large_frames/run.py. `offcpu`: CPU time of a switch, and of
# a transaction of pgbench, while waits are sampled, and who ends a wait at a lock of postgres, 12 minutes. `heap`: what malloc and free cost under fpless heap, 10 minutes. `engines`: pages and
# pictures in Chromium and in Firefox, by keys alone, and what axe-core says, 2 minutes; it installs
# firefox-esr and has npm fetch axe-core; OPTION as in tests/bench/engines/run.py. `same-bytes`: the package, built twice in
# different surroundings, is the same bytes, 4 minutes: before a landing that touches how it is built. `agent`: CPU time and memory of
# an agent, idle and busy, and a day in its store, 13 minutes; OPTION as in tests/bench/agent/run.py. `hours`: memory, descriptors and
# store of an agent beside a changing load, three hours (tests/bench/agent/hours.py). `sources`: how complete the
# stacks of each kind of event are, 2 minutes; OPTION as in tests/bench/sources/run.py. `java`: a known stack in JVMs 11 to 25, run in
# ten ways each, and a server, 6 minutes; pip downloads three of them; OPTION as in tests/bench/java/run.py. `collector`: fpless push against a
# collector of OpenTelemetry, which is restarted, through a proxy that loses answers; seconds, and two minutes of Go's compiler at the
# first time; it needs Go 1.25; OPTION as in tests/bench/collector/run.py. `units [SERIES...]`: the packages installed, used, upgraded and
# purged in a guest with systemd, on 6.1, 6.12 and the newest kernel, 25 minutes (tests/bench/units/run.py). `guest SERIES`: all tests of other kernels on one
# more, as tools/vm.sh -k has it, some minutes: tools/test.sh boots 6.1 and the newest.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1-}" in
"" | programs | unwinders | releases | large-frames | offcpu | heap | sources | java | engines | same-bytes | agent | hours | collector | units | guest) ;;
*)
	sed -n '3p' tools/bench.sh | cut -c3- >&2
	exit 1
	;;
esac

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

if [ "${1-}" = guest ]; then
	series=${2:?guest: expected a series of kernels, such as 6.12}
	./tools/setup.sh test
	cmake --preset release -DBUILD_TESTING=ON
	cmake --build --preset release
	tests=build/release/tests
	exec python3 tests/vm/test_kernel.py "$series" build/release/fpless build/release/fixtures fixtures/expect "$tests/vm/sequence" \
		"$tests/root/test_programs" "$tests/root/test_uprobe" "$tests/root/test_heap"
fi

if [ "${1-}" = engines ]; then
	shift
	./tools/setup.sh test
	if ! command -v firefox-esr >/dev/null; then
		as_root=
		[ "$(id -u)" = 0 ] || as_root=sudo
		$as_root apt-get install -q -y --no-install-recommends firefox-esr </dev/null
	fi
	cmake --preset release -DFPL_HTML=ON
	cmake --build --preset release --target fpless
	modules=build/release/tests/bench/engines
	mkdir -p "$modules"
	cp tests/bench/engines/package.json tests/bench/engines/package-lock.json "$modules"
	npm ci --prefix "$modules" --ignore-scripts --no-audit --no-fund --loglevel=error
	exec python3 tests/bench/engines/run.py build/release/fpless "$modules/node_modules/axe-core/axe.min.js" "$@"
fi

if [ "${1-}" = same-bytes ]; then
	./tools/setup.sh test
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	env -u CMAKE_C_COMPILER_LAUNCHER python3 tests/package/test_build.py "$PWD" "$work/package"
	python3 tests/package/same_bytes.py "$PWD" "$work/package"
	exit
fi

if [ "${1-}" = units ]; then
	shift
	./tools/setup.sh test
	folder=$PWD/build/release/units
	python3 tests/package/test_build.py "$PWD" "$folder/package"
	python3 tests/package/test_root.py "$folder"
	exec python3 tests/bench/units/run.py "$folder/package" "$folder" "$@"
fi

./tools/setup.sh bench
cmake --preset release -DBUILD_TESTING=ON
cmake --build --preset release
case "${1-}" in
large-frames)
	shift
	exec python3 tests/bench/large_frames/run.py build/release/fpless "$@"
	;;
sources | java | collector)
	name=$1
	shift
	exec python3 "tests/bench/$name/run.py" build/release/fpless "$@"
	;;
hours)
	shift
	exec python3 tests/bench/agent/hours.py build/release --load "$@"
	;;
offcpu | heap | agent)
	[ "$1" != agent ] || cmake --build --preset release --target bench_store
	script=tests/bench/$1/run.py
	[ "$1" != offcpu ] || cmake --build --preset release --target bench_hooks
	[ "$1" != offcpu ] || python3 tests/bench/offcpu/held_lock.py build/release
	[ "$1" != offcpu ] || python3 tests/bench/offcpu/pgbench.py build/release
	shift
	exec python3 "$script" build/release "$@"
	;;
esac
cmake --build --preset release --target bench_walker bench_windows bench_events bench_hooks

run() {
	printf '\n=== %s\n' "$1"
	"$@"
}

cat /proc/loadavg
run build/release/tests/bench/compile/bench_compile
run build/release/tests/bench/coverage/bench_coverage
run build/release/tests/bench/walker/bench_walker
run python3 tests/bench/walker/run.py build/release
run python3 tests/bench/events/run.py build/release
run python3 tests/bench/offcpu/run.py build/release
run python3 tests/bench/startup/run.py build/release/fpless
run python3 tests/bench/own_cost/run.py build/release/fpless
run python3 tests/bench/top/run.py build/release/fpless
run python3 tests/bench/table_cache/run.py build/release/fpless
run python3 tests/bench/names_cache/run.py build/release/fpless
run python3 tests/bench/compare/run.py build/release
run python3 tests/bench/symbolize/run.py build/release
run python3 tests/bench/lines/run.py build/release
run python3 tests/bench/annotate/run.py build/release/fpless
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
