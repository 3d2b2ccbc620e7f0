#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tests/update-golden.sh [BUILD]: write the golden texts anew from BUILD (build/release). Read the
# diff afterwards line by line: these files are what the reader of CFI is judged by.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
build=${1:-$top/build/release}
for golden in "$top"/tests/golden/*.rows; do
	name=$(basename "$golden" .rows)
	"$build/fpless" tables --rows "$build/fixtures/cfi/$name.elf" >"$golden.tmp"
	mv "$golden.tmp" "$golden"
done
git -C "$top" --no-pager diff --stat -- tests/golden
