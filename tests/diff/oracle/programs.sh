#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: programs.sh FPLESS WALK_ORACLE [AT_LEAST]: record walks of python3, clang++, gdb and openssl, and have
# libdw unwind the same registers and stack copies. Needs root and BPF.
set -eu
fpless=$1
oracle=$2
at_least=${3:-1000}
failed=0
nr_judged=0

if [ "$(id -u)" != 0 ]; then
	echo "SKIP: sampling needs root"
	exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# shellcheck source=tests/diff/oracle/loads.sh
. "$(dirname "$0")/loads.sh"
make_loads "$work"

# judge NAME COMMAND...: record COMMAND for 5 seconds at 999 Hz, longer where a busy machine has given too few walks, judge its
# walks. Rows made from code are nothing that libdw knows: it ends where a frame was found by one.
judge() {
	name=$1
	shift
	if ! command -v "$1" >/dev/null; then
		echo "SKIP: no $1"
		return
	fi
	echo "== $name"
	for duration in 5 10 20 40; do
		"$fpless" profile --no-synth -F 999 -d "$duration" --snapshot 64K --record-walks "$work/walks" -f -- "$@" \
			>"$work/folded" 2>"$work/report" || true
		sed -n 's/^ *complete/  complete/p; s/^ *books/  books/p' "$work/report"
		status=0
		"$oracle" -n "$at_least" "$work/walks" || status=$?
		[ $status = 2 ] || break
	done
	if [ $status = 0 ]; then
		nr_judged=$((nr_judged + 1))
	else
		echo "$name: libdw does not agree on at least $at_least walks: status $status"
		failed=1
	fi
}

# the system's: other builds may have frame pointers, or no CFI of their own
judge python3 /usr/bin/python3 "$work/load.py"
judge clang++ clang++-16 -O2 -c "$work/deep.cc" -o "$work/deep.o"
judge gdb gdb -nx -batch -ex "python
for i in range(1000):
    gdb.execute('file $fpless', to_string=True)
    gdb.execute('maint expand-symtabs', to_string=True)
    gdb.execute('info functions walk', to_string=True)"
if command -v openssl >/dev/null; then
	judge openssl sh -c 'while openssl speed -seconds 1 rsa2048 sha256 ecdsap256; do :; done'
else
	echo "SKIP: no openssl"
fi

# the judge sees a wrong frame: change one in each of the first walks
cat >"$work/tamper.py" <<'PY'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
off, left = 8, 5
while off < len(data) and left:
    kind, size = struct.unpack_from("<II", data, off)
    nr_user, = struct.unpack_from("<H", data, off + 80)
    if kind == 5 and nr_user > 3:
        frame, = struct.unpack_from("<Q", data, off + 112 + 8)
        struct.pack_into("<Q", data, off + 112 + 8, frame + 1)
        left -= 1
    off += size
open(sys.argv[2], "wb").write(data)
sys.exit(left != 0)
PY
if [ "$nr_judged" -gt 0 ] && command -v python3 >/dev/null; then
	echo "== five frames changed"
	python3 "$work/tamper.py" "$work/walks" "$work/tampered"
	status=0
	"$oracle" "$work/tampered" >"$work/said" || status=$?
	if [ "$status" != 5 ] || ! grep -q '^ *5 DIFFERING' "$work/said"; then
		echo "the oracle misses changed frames: status $status"
		cat "$work/said"
		failed=1
	fi
fi

[ "$nr_judged" -gt 0 ] || [ "$failed" = 1 ] || exit 77
exit $failed
