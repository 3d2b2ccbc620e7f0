#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check-size.sh [ROOT]
# At most 800 lines in a file, 60 in the body of a function. Bodies begin and end with a brace in
# the first column (clang-format sees to it).
set -eu
cd "${1:-$(dirname "$0")/..}"

folders=
for folder in bpf unwind symbolize src tests fixtures; do
	[ -d "$folder" ] && folders="$folders $folder"
done
[ -n "$folders" ] || exit 0

# shellcheck disable=SC2086
find $folders -name '*.[ch]' -exec awk '
	FNR == 1    { start = 0 }
	FNR == 801  { print FILENAME ": more than 800 lines"; bad = 1 }
	/^\{/       { start = FNR }
	/^\}/ && start {
		if (FNR - start - 1 > 60) {
			print FILENAME ":" start ": a function of " FNR - start - 1 " lines"
			bad = 1
		}
		start = 0
	}
	END { exit bad }
' {} + >&2
