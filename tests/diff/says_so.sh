#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: says_so.sh FPLESS FIXTURES: what verify finds, and what it cannot read, shows in its exit status.
set -u
fpless=$1
fixtures=$2
failed=0

# expect STATUS PATTERN FILE...: verify ends with STATUS and prints PATTERN
expect() {
	want=$1
	pattern=$2
	shift 2
	output=$("$fpless" verify "$@" 2>&1)
	got=$?
	if [ "$got" != "$want" ] || ! printf '%s\n' "$output" | grep -q "$pattern"; then
		echo "verify $*: exit $got, want $want and \"$pattern\" in:"
		printf '%s\n' "$output"
		failed=1
	fi
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf 'no ELF file' >"$work/text"
mkfifo "$work/fifo"
mkdir "$work/folder"
cp "$fixtures/opcodes.elf" "$work/folder/first"
ln "$work/folder/first" "$work/folder/second"
ln -s first "$work/folder/third"
cp "$work/text" "$work/folder/text"
head -c 3000 "$fixtures/opcodes.elf" >"$work/cut"

# libdw goes on behind operands that leave the FDE; the table does not
expect 5 'DISAGREE: libdw has a rule, the table does not' "$fixtures/malformed.elf"
expect 5 'total: 2 files judged.* 1 with disagreements' "$fixtures/malformed.elf" "$fixtures/opcodes.elf"
expect 0 ' 0 disagreements' "$fixtures/opcodes.elf"
expect 2 'skipped' "$work/text"
expect 2 'No such file' "$work/absent"
expect 0 'total: 1 files judged' "$work/folder"
expect 0 'total: 1 files judged' -v -j 1 "$work/folder"
expect 1 'a number from 1 to' -j 0 "$fixtures/opcodes.elf"
# whatever it is called, it is named in one line and the next file is judged
expect 2 'opcodes.elf: 14 FDEs' "$work/fifo" "$fixtures/opcodes.elf"
# libdw begins at the start of the function for each row: its time is no cost of the table
cat >"$work/rows.S" <<'END'
.text
.globl many_rows
.type many_rows, @function
many_rows:
.cfi_startproc
.rept 30000
push %rbx
.cfi_adjust_cfa_offset 8
pop %rbx
.cfi_adjust_cfa_offset -8
.endr
ret
.cfi_endproc
.size many_rows, . - many_rows
.section .note.GNU-stack,"",@progbits
END
if cc -shared -nostdlib -o "$work/rows.so" "$work/rows.S"; then
	expect 0 ' 0 disagreements' -t 120 "$work/rows.so"
	expect 2 'rows.so: not judged within 0.05 s: raise the limit' -t 0.05 "$work/rows.so"
fi
"$fpless" verify "$work/cut" >/dev/null 2>&1
[ $? -le 2 ] || { echo "a cut file: exit above 2"; failed=1; }
exit $failed
