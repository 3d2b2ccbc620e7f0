#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: diff.sh FPLESS GOLDEN...: what diff makes of the recordings in diff/, in the way that the
# name of each GOLDEN says, is GOLDEN. Without a GOLDEN: write them all.
set -eu
fpless=$1
shift
cd "$(dirname "$0")/diff"

# make NAME
make() {
	case $1 in
	text) options= ;;
	shares) options='--normalize --top 3' ;;
	stripped) options='--strip-hex --any-object --top 0' ;;
	folded) options=-f ;;
	folded_n) options='-f --normalize' ;;
	folded_s) options='-f --strip-hex --annotate --delimited' ;;
	esac
	# shellcheck disable=SC2086
	"$fpless" diff -q $options before1.folded before2.folded -- after1.folded after2.folded
}

if [ $# = 0 ]; then
	for golden in *.golden; do
		make "${golden%.golden}" >"$golden.tmp"
		mv "$golden.tmp" "$golden"
	done
fi
for name; do
	make "$name" | diff "$name.golden" -
done
