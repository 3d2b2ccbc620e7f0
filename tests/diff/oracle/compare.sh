#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: compare.sh FPLESS WALK_ORACLE FIXTURES [AT_LEAST [SEED]]: run `compare` on programs with and without frame pointers, and
# have AT_LEAST (200) samples of each, drawn by chance among those that `compare` judges, judged themselves: the CFI walk by libdw
# and the frame-pointer walk by following rbp, both from the registers and the stack copy of the sample. Needs root and BPF.
set -eu
fpless=$1
oracle=$2
fixtures=$3
at_least=${4:-200}
seed=${5:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}
failed=0
nr_judged=0

if [ "$(id -u)" != 0 ]; then
	echo "SKIP: sampling needs root"
	exit 77
fi
max_stack=$(cat /proc/sys/kernel/perf_event_max_stack)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# shellcheck source=tests/diff/oracle/loads.sh
. "$(dirname "$0")/loads.sh"
make_loads "$work"
echo "seed $seed; kernel.perf_event_max_stack $max_stack"

# record SECONDS COMMAND...: a run of compare, with its walks
record() {
	duration=$1
	shift
	"$fpless" compare -v -F 999 -d "$duration" --snapshot 64K --record-walks "$work/walks" -- "$@" \
		>"$work/said" 2>"$work/report"
}

# judge NAME SECONDS COMMAND...: on a busy machine so long may be too short for as many samples
judge() {
	name=$1
	seconds=$2
	shift 2
	if ! command -v "$1" >/dev/null; then
		echo "SKIP: no $1"
		return
	fi
	echo "== $name"
	status=2
	for longer in 1 4; do
		if ! record $((seconds * longer)) "$@" || ! grep -q ': closed$' "$work/report"; then
			echo "$name: compare failed, or its books do not close:"
			cat "$work/report"
			status=1
			break
		fi
		sed -n 's/^ *books/  books/p; s/^ *compare/  compare/p' "$work/report"
		status=0
		"$oracle" -s "$seed" -m "$max_stack" -n "$at_least" "$work/walks" || status=$?
		[ $status = 2 ] || break
	done
	if [ $status = 0 ]; then
		nr_judged=$((nr_judged + 1))
	else
		echo "$name: not $at_least samples whose two walks are right: status $status"
		failed=1
	fi
}

judge python3 3 /usr/bin/python3 "$work/load.py"
judge clang++ 3 clang++-16 -O2 -c "$work/deep.cc" -o "$work/deep.o"
judge gdb 3 gdb -nx -batch -ex "python
for i in range(1000):
    gdb.execute('file $fpless', to_string=True)
    gdb.execute('maint expand-symtabs', to_string=True)
    gdb.execute('info functions walk', to_string=True)"
judge sqlite3 3 sqlite3 -init "$work/load.sql" :memory:
judge node 4 node "$work/load.js"
judge "frame pointers" 3 "$fixtures/frames" 60000
judge "frame pointers above a libc without" 3 "$fixtures/chain_keepfp" 60000

# the judge sees a wrong frame in either walk: change the caller of the first few
cat >"$work/tamper.py" <<'PY'
import struct, sys
data, which = bytearray(open(sys.argv[1], "rb").read()), sys.argv[3]
off, left = 8, 50
while off < len(data) and left:
    kind, size = struct.unpack_from("<II", data, off)
    if kind == 5:
        nr_user, nr_kernel, _, _, nr_fp = struct.unpack_from("<HHBBH", data, off + 80)
        first, nr = (0, nr_user) if which == "cfi" else (nr_user + nr_kernel, nr_fp)
        if nr > 1:
            at = off + 112 + 8 * (first + 1)
            struct.pack_into("<Q", data, at, struct.unpack_from("<Q", data, at)[0] + 1)
            left -= 1
    off += size
open(sys.argv[2], "wb").write(data)
sys.exit(left != 0)
PY
for which in cfi fp; do
	if [ "$nr_judged" = 0 ] || ! command -v python3 >/dev/null; then
		continue
	fi
	echo "== fifty $which frames changed"
	python3 "$work/tamper.py" "$work/walks" "$work/tampered" $which
	status=0
	"$oracle" -s "$seed" -m "$max_stack" -n 100000 "$work/tampered" >"$work/said" || status=$?
	if [ "$status" != 5 ] || ! grep -q '^ *[0-9]* DIFFERING' "$work/said"; then
		echo "the oracle misses changed frames: status $status"
		cat "$work/said"
		failed=1
	fi
done

[ "$nr_judged" -gt 0 ] || [ "$failed" = 1 ] || exit 77
exit $failed
