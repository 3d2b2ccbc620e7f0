# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh disable=SC2034,SC2154
# Sourced by the tests of this folder: $fpless is the program, $work a folder that is removed.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# expect STATUS STDERR_REGEX ARGUMENT...: run fpless; on failure one line, and it says the regex.
expect() {
	want=$1
	regex=$2
	shift 2
	status=0
	"$fpless" "$@" >"$work/stdout" 2>"$work/stderr" </dev/null || status=$?
	if [ "$status" != "$want" ]; then
		echo "fpless $*: exit status $status, expected $want" >&2
		cat "$work/stderr" >&2
		failed=1
	fi
	if [ -n "$regex" ] && ! grep -qE -- "$regex" "$work/stderr"; then
		echo "fpless $*: stderr does not say '$regex':" >&2
		cat "$work/stderr" >&2
		failed=1
	fi
}

# refused REGEX ARGUMENT...: a usage error in exactly one line, with nothing on stdout.
refused() {
	said=$1
	shift
	expect 1 "$said" "$@"
	if [ "$(wc -l <"$work/stderr")" != 1 ] || [ -s "$work/stdout" ]; then
		echo "fpless $*: not refused in one line:" >&2
		cat "$work/stdout" "$work/stderr" >&2
		failed=1
	fi
}

# says REGEX: the stdout of the last run does.
says() {
	if ! grep -qE -- "$1" "$work/stdout"; then
		echo "stdout does not say '$1':" >&2
		cat "$work/stdout" >&2
		failed=1
	fi
}
