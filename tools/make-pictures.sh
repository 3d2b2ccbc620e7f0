#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: make-pictures.sh [BUILD]
# Make the pictures of the README anew, with the fpless of BUILD (build/release): fpless itself,
# sampled while it holds the unwind tables of a library against its CFI. Needs root and BPF.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build/release}
library=$(ldconfig -p | sed -n 's|.*libLLVM-16.* => ||p' | head -n 1)

mkdir -p docs/pictures
"$build/fpless" profile -q -d 6 -F 997 --no-lines --min-width 2 --width 1000 --title 'fpless verify, sampled by fpless profile' \
	-o docs/pictures/flame.svg -- "$build/fpless" verify -j 1 "$library" >/dev/null
ls -l docs/pictures
