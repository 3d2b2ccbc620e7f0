#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check-quarantine.sh [ROOT [BUILD_FOLDER]]
# Each line of tests/quarantine.txt names a test once, one that there is in the build, and says its cause in five words or more.
set -eu
cd "${1:-$(dirname "$0")/..}"
list=tests/quarantine.txt
[ -e "$list" ] || exit 0
status=0

complain() {
	echo "$list: $*" >&2
	status=1
}

while read -r name cause; do
	case $name in '#'* | '') continue ;; esac
	words=$(echo "$cause" | wc -w)
	[ "$words" -ge 5 ] || complain "$name: a cause of five words or more is expected, found $words"
	[ "$(grep -c "^$name " "$list")" -le 1 ] || complain "$name: listed twice"
	if [ -n "${2:-}" ] && ! ctest --test-dir "$2" -N | grep -q ": $name\$"; then
		complain "$name: no such test"
	fi
done <"$list"
exit $status
