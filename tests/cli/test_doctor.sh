#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: test_doctor.sh FPLESS
set -eu
fpless=$1
# shellcheck source=tests/cli/expect.sh
. "$(dirname "$0")/expect.sh"

# The system: a verdict per line, and a closing line that the exit status follows.
status=0
"$fpless" doctor >"$work/stdout" 2>"$work/stderr" || status=$?
for subject in kernel BTF bpf_loop 'BPF JIT' lockdown 'PID namespace' perf_event_paranoid CAP_BPF \
	CAP_SYS_PTRACE event 'stack depth' 'debug files' 'BPF object' trial; do
	says "^(ok  |warn|fail)  $subject  "
done
if grep -vE '^(ok  |warn|fail)  [^ ].*  [^ ]|^$|^fpless can(not)? run here' "$work/stdout" >&2; then
	echo "  ^ no line of a check" >&2
	failed=1
fi
if grep -E '^(warn|fail)' "$work/stdout" | grep -vE ': .*; fix: ' >&2; then
	echo "  ^ without what it costs or the fix" >&2
	failed=1
fi
case $status in
0) says '^fpless can run here' ;;
2) says '^fpless cannot run here: .' ;;
*)
	echo "fpless doctor: exit status $status" >&2
	failed=1
	;;
esac
[ ! -s "$work/stderr" ] || {
	echo "fpless doctor: stderr is not empty" >&2
	failed=1
}

# A file: fpless itself.
expect 0 '' doctor "$fpless"
says '^  build-id      [0-9a-f]{16,}$'
says '^  table         [1-9][0-9]* rows, [1-9][0-9]* rules, [1-9][0-9]* bytes; from .eh_frame$'
says '^  coverage      [1-9][0-9.]* % of the code: of [0-9]+ bytes [0-9]+ by CFI, [0-9]+ by rows made from the code; '
says '^  without a row [0-9]+ of [1-9][0-9]* functions'
says '^  symbols       .symtab, [1-9]'
if readelf -SW "$fpless" | grep -qF .debug_info; then
	says '^  debug info    in the file$'
else
	says '^  debug info    missing$'
fi
expect 0 '' doctor --json "$fpless"
says '^\{"format":1,"subject":"file","object":"'
says '"coverage":\{"code_bytes":[1-9]'
[ "$(wc -l <"$work/stdout")" = 1 ]

# A process: this shell. A number is a process, a path with a slash never is.
expect 0 '' doctor $$
says "^pid $$ \("
says '^ok    code '
says '/[^ ]*libc[.-][^ ]*$'
says ' \[vdso\]$'
expect 0 '' doctor --json $$
says '^\{"format":1,"subject":"process","pid":[0-9]+,'
cp "$fpless" "$work/123"
expect 0 '' doctor "$work/123"
expect 3 '^fpless: pid 4194304: No such process$' doctor 4194304

# Nonsense is refused in one line that names it.
refused "'b': unexpected: expected one file or process" doctor a b
refused "'0': not a process id .a file of this name is './0'." doctor 0
refused "'99999999999': not a process id" doctor 99999999999
expect 2 '^fpless: /nowhere/x: No such file' doctor /nowhere/x
expect 2 '^fpless: : No such file' doctor ''
echo text >"$work/text"
expect 2 'text: not an ELF file' doctor "$work/text"
mkfifo "$work/fifo"
expect 2 'fifo: not a regular file$' doctor "$work/fifo"
expect 2 ': not a regular file$' doctor "$work"
head -c 100 "$fpless" >"$work/cut"
expect 2 'cut: ' doctor "$work/cut"

# An output that cannot be written.
status=0
"$fpless" doctor "$fpless" >/dev/full 2>"$work/stderr" || status=$?
if [ "$status" != 6 ] || ! grep -q stdout "$work/stderr"; then
	echo "/dev/full: exit status $status" >&2
	failed=1
fi
exit $failed
