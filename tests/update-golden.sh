#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tests/update-golden.sh [BUILD]: write the golden texts anew from BUILD (build/release). Read the
# diff afterwards line by line: these files are what the reader of CFI and the
# writers of formats are judged by.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$top/build/release}
for golden in "$top"/tests/golden/*.rows; do
	name=$(basename "$golden" .rows)
	"$build/fpless" tables --rows "$build/fixtures/cfi/$name.elf" >"$golden.tmp"
	mv "$golden.tmp" "$golden"
done
for kind in counts events; do
	for format in folded text jsonl perf pprof speedscope firefox svg html; do
		"$top/tests/golden/format.sh" "$build/tests/golden/write_formats" $format $kind \
			>"$top/tests/golden/$kind.$format"
	done
done
"$top/tests/golden/format.sh" "$build/tests/golden/write_formats" chart events >"$top/tests/golden/events.chart"
for input in "$top"/tests/golden/read/*.txt; do
	"$build/fpless" report -q "$input" --format jsonl -o - >"${input%.txt}.jsonl"
done
"$top/tests/golden/diff.sh" "$(realpath "$build/fpless")"
git -C "$top" --no-pager diff --stat -- tests/golden
