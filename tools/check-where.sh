#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check-where.sh [ROOT]
# "Where things happen" of CONTRIBUTING.md names files that exist and contain the names behind them;
# its table of labels has those of the tests, and no other.
set -eu
cd "${1:-$(dirname "$0")/..}"
[ -f CONTRIBUTING.md ] || exit 0
bad=0

tokens=$(awk '
	/^## / { on = $0 == "## Where things happen"; next }
	!on { next }
	{
		while (match($0, /`[^`]*`/)) {
			print substr($0, RSTART + 1, RLENGTH - 2)
			$0 = substr($0, RSTART + RLENGTH)
		}
	}' CONTRIBUTING.md | grep -vE '^tools/|[<*]|^d3-' || :)
if [ -f tests/CMakeLists.txt ] && [ -z "$tokens" ]; then
	echo "CONTRIBUTING.md: no path under \"Where things happen\"" >&2
	bad=1
fi
path=
for token in $tokens; do
	case $token in
	*/*)
		path=$token
		if [ ! -e "$path" ]; then
			echo "CONTRIBUTING.md: $path does not exist" >&2
			bad=1
		fi
		;;
	*)
		if [ -e "$path" ] && ! grep -qw -- "$token" "$path"; then
			echo "CONTRIBUTING.md: $path does not contain $token" >&2
			bad=1
		fi
		;;
	esac
done

[ -d tests ] && [ -d cmake ] || exit $bad
documented=$(sed -n 's/^| `\([a-z]*\)` | .*/\1/p' CONTRIBUTING.md | sort)
used=$(find tests cmake -name CMakeLists.txt -o -name "*.cmake" | xargs cat |
	grep -oE 'LABELS ("[a-z;]+"|[a-z]+)' | sed 's/^LABELS //' | tr -d '"' | tr ';' '\n' | sort -u)
if [ "$documented" != "$used" ]; then
	printf 'CONTRIBUTING.md: labels documented:\n%s\nlabels of tests:\n%s\n' "$documented" "$used" >&2
	bad=1
fi
exit $bad
