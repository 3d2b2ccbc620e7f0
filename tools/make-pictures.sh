#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: make-pictures.sh [BUILD]
# Make the pictures of the README anew, with the fpless of BUILD (build/release): fpless itself,
# sampled while it holds the unwind tables of a library against its CFI. Needs root and BPF. They
# say that it is where a package puts it, not where it was built.
set -eu
cd "$(dirname "$0")/.."
fpless=$(realpath "${1:-build/release}/fpless")
library=$(ldconfig -p | sed -n 's|.*libLLVM-16.* => ||p' | head -n 1)
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT

"$fpless" profile -q -d 6 -F 997 -o "$run/built.jsonl" -- "$fpless" verify -j 1 "$library" >/dev/null
sed "s|\"$fpless\"|\"/usr/bin/fpless\"|g" "$run/built.jsonl" >"$run/installed.jsonl"
mkdir -p docs/pictures
"$fpless" report -q --no-lines --min-width 2 --width 1000 --title 'fpless verify, sampled by fpless profile' \
	-o docs/pictures/flame.svg "$run/installed.jsonl"
if grep -nF "${fpless%/*}" docs/pictures/*; then
	echo 'make-pictures.sh: a picture says where it was made' >&2
	exit 1
fi
ls -l docs/pictures
