#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: test_stop_reasons.sh ROOT
# docs/man/fpless-stop-reasons.7.scd names the same stops, losses and origins as the X-lists of bpf/shared.h, and
# src/recording/keys.c alone makes words of them.
set -eu
root=$1
failed=0

# compare LIST HEADING: the second arguments of the X-list against the `name` cells under HEADING.
compare() {
	header=$(sed -n "/^#define $1(X)/,/[^\\\\]\$/p" "$root/bpf/shared.h" |
		sed -n 's/^[[:space:]]*X([A-Z0-9_]*,[[:space:]]*\([a-z0-9_]*\),.*/\1/p')
	docs=$(awk -v heading="# $2" '$0 == heading { on = 1; next } /^# / { on = 0 } on' \
		"$root/docs/man/fpless-stop-reasons.7.scd" | sed -n 's/^\*\([a-z0-9_]*\)\*$/\1/p')
	if [ -z "$header" ] || [ "$header" != "$docs" ]; then
		printf '%s of bpf/shared.h:\n%s\n\nunder "%s" in docs/man/fpless-stop-reasons.7.scd:\n%s\n' \
			"$1" "$header" "$2" "$docs" >&2
		failed=1
	fi
}

compare FPL_STOP_LIST "WHY A WALK ENDED"
compare FPL_LOST_LIST "WHY A SAMPLE IS LOST"
compare FPL_ORIGIN_LIST "HOW A FRAME WAS FOUND"

others=$(grep -rlE --include='*.[ch]' 'FPL_(STOP|LOST|ORIGIN)_LIST\(' "$root/src" | grep -v '/src/recording/keys\.c$' || :)
if [ -n "$others" ]; then
	printf '%s\n  ^ expanded once more: look the word up by recording/keys.h\n' "$others" >&2
	failed=1
fi
exit $failed
