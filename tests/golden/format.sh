#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: format.sh WRITE_FORMATS FORMAT KIND [GOLDEN]: the recording reads as the golden text does; without
# GOLDEN, print how it reads. A pprof is shown field by field, a
# picture without its style and its script.
set -eu
here=$(dirname "$0")
read_as_text() {
	case $1 in
	pprof) python3 "$here/pprof_text.py" "$here/../../src/recording/pprof.proto" ;;
	svg | chart) sed '/^<style>$/,/^<\/style>$/d; /^<script>/,/^\]\]><\/script>$/d' ;;
	*) cat ;;
	esac
}
if [ $# -lt 4 ]; then
	"$1" "$2" "$3" | read_as_text "$2"
else
	"$1" "$2" "$3" | read_as_text "$2" | diff -au "$4" -
fi
