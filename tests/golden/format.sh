#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: format.sh WRITE_FORMATS FORMAT KIND [GOLDEN]: the recording reads as the golden text does; without
# GOLDEN, print how it reads. A pprof is shown field by field, the data of a page member by member, a
# picture without its style and its script.
set -eu
here=$(dirname "$0")
read_as_text() {
	case $1 in
	html) python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin), indent=1))' ;;
	pprof) python3 "$here/pprof_text.py" "$here/../../src/format/pprof.proto" ;;
	svg | chart) sed '/^<style>$/,/^<\/style>$/d; /^<script>/,/^\]\]><\/script>$/d' ;;
	*) cat ;;
	esac
}
if [ $# -lt 4 ]; then
	"$1" "$2" "$3" | read_as_text "$2"
else
	"$1" "$2" "$3" | read_as_text "$2" | diff -au "$4" -
fi
