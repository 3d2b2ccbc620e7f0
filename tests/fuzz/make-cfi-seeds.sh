#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tests/fuzz/make-cfi-seeds.sh: write fixtures/fuzz/fuzz_cfi/<fixture> from fixtures/cfi/<fixture>.s, at the
# addresses fuzz_cfi.c gives code and sections. An input is a little-endian u16, the size of .eh_frame,
# then the bytes of .eh_frame and of .debug_frame.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for source in "$top"/fixtures/cfi/*.s; do
	name=$(basename "$source" .s)
	as -I"$top/fixtures/cfi" -o "$work/o" "$source"
	# 16-bit distances to the code do not fit here: their entries are seeds of bad ones
	ld --noinhibit-exec -static -Ttext=0x1000 --section-start=.eh_fixture=0x1000400 -e 0x1000 \
		-o "$work/elf" "$work/o" 2>/dev/null || true
	: >"$work/debug"
	objcopy --dump-section .eh_fixture="$work/eh" "$work/elf" /dev/null
	if readelf -SW "$work/elf" | grep -q ' \.debug_frame '; then
		objcopy --dump-section .debug_frame="$work/debug" "$work/elf" /dev/null
	fi
	size=$(stat -c %s "$work/eh")
	out=$top/fixtures/fuzz/fuzz_cfi/$name
	# shellcheck disable=SC2059 # the format is the bytes
	printf "$(printf '\\%03o\\%03o' "$((size % 256))" "$((size / 256))")" >"$out"
	cat "$work/eh" "$work/debug" >>"$out"
done
