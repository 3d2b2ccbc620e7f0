#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: check-banned.sh [ROOT]
# Functions that are not used here: unbounded, not reentrant, or hiding their errors. Programs that
# are sampled as fixtures may use what they like.
set -eu
cd "${1:-$(dirname "$0")/..}"
banned='sprintf|vsprintf|strcpy|strcat|strncpy|strncat|atoi|atol|atoll|atof|strtok|gets|alloca|system|popen|signal|rand|srand|gmtime|localtime|ctime|asctime|tmpnam|mktemp'

folders=
for folder in bpf unwind symbolize src tests; do
	[ -d "$folder" ] && folders="$folders $folder"
done
[ -n "$folders" ] || exit 0

# Lines of a comment block begin with "*" here (clang-format sees to it).
# shellcheck disable=SC2086
lines=$(grep -rnE --include='*.[ch]' "(^|[^[:alnum:]_.>])($banned)[[:space:]]*\\(" $folders |
	grep -vE '^[^:]+:[0-9]+:[[:space:]]*(\*|/\*)' || :)
bpf=$(grep -rnE --include='*.[ch]' 'bpf_printk' bpf 2>/dev/null || :)
# base/alloc.h ends the process: not where samples are taken, nor where files of targets are read
ends=$(grep -rnE --include='*.[ch]' '(^|[^[:alnum:]_])(must_[a-z_]+|alloc_(fail|check))[[:space:]]*\(' \
	unwind symbolize src/obj src/parse src/proc src/profile src/naming src/top src/cli/stream.c \
	src/recording/recording.c src/format/stream_format.c src/view/frame_json.c src/view/functions.c \
	src/recording/keys.c src/view/json.c src/view/sequences.c src/view/stack_slots.c 2>/dev/null || :)
# a test that cannot run says what is missing: skip_test() of tests/support/skip_test.h
skips=$(grep -rnE '(^|[^[:alnum:]_])skip\(\)' tests --include='*.[ch]' 2>/dev/null | grep -v '^tests/support/skip_test\.h:' || :)
# two builds of one source are the same bytes
dates=$(grep -rnE --include='*.[ch]' '__(DATE|TIME|TIMESTAMP)__' bpf unwind symbolize src 2>/dev/null || :)
[ -z "$lines$bpf$ends$skips$dates" ] && exit 0
printf '%s\n' "$lines" "$bpf" "$ends" "$skips" "$dates" | sed '/^$/d' >&2
echo "  ^ banned functions" >&2
exit 1
