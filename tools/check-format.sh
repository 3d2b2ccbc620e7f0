#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check-format.sh [ROOT]
# Every C file as clang-format-16 writes it, an SPDX line first, no stray blanks in scripts.
set -eu
cd "${1:-$(dirname "$0")/..}"
bad=0

folders=
for folder in bpf unwind symbolize src tests fixtures tools cmake; do
	[ -d "$folder" ] && folders="$folders $folder"
done
[ -n "$folders" ] || exit 0

# shellcheck disable=SC2086
find $folders -name '*.[ch]' -exec clang-format-16 --dry-run -Werror {} + || bad=1
# shellcheck disable=SC2086
for file in $(find $folders -name '*.[chS]' -o -name '*.sh' -o -name '*.py' -o -name '*.cmake' \
	-o -name CMakeLists.txt); do
	if ! head -n 2 "$file" | grep -q 'SPDX-License-Identifier: '; then
		echo "$file: no SPDX line at the top" >&2
		bad=1
	fi
	if grep -nE '[[:blank:]]$' "$file" >&2; then
		echo "  ^ $file: blanks at the end of a line" >&2
		bad=1
	fi
done
exit $bad
