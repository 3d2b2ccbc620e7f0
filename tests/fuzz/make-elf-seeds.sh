#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: tests/fuzz/make-elf-seeds.sh: write the seeds of fuzz_elf and fuzz_symtab (the same files) from a few
# lines of assembly: shared library with a PLT, IFUNC and aliases, as linked, stripped, with compressed sections, with
# a debuglink, with .gnu_debugdata, and the object file; and a seed of fuzz_object with notes of probes.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/seed.s" <<'END'
	.text
	.globl	entry, alias, _ZN3foo3barEi
	.weak	__entry
	.type	entry, @function
	.type	alias, @function
	.type	__entry, @function
	.type	chosen, @gnu_indirect_function
	.type	_ZN3foo3barEi, @function
	.type	inner, @function
entry: alias: __entry:
	.cfi_startproc
	call	outside@PLT
	call	chosen
	ret
	.cfi_endproc
	.size	entry, .-entry
	.size	alias, .-alias
	.size	__entry, .-__entry
chosen:	ret
	.size	chosen, .-chosen
_ZN3foo3barEi:
	nop
inner:	nop
	.size	inner, .-inner
	ret
	.size	_ZN3foo3barEi, .-_ZN3foo3barEi
label:	ret
	.section .debug_info, "", @progbits
	.zero	600
END
as -o "$work/object.o" "$work/seed.s"
ld -shared -z noseparate-code -z max-page-size=64 -z common-page-size=64 --hash-style=gnu --build-id=sha1 \
	-o "$work/library" "$work/object.o"
objcopy --compress-debug-sections=zlib "$work/library" "$work/compressed"
strip -o "$work/stripped" "$work/library"
objcopy --only-keep-debug "$work/library" "$work/debug_file"
cp "$work/stripped" "$work/debuglink"
(cd "$work" && objcopy --add-gnu-debuglink=debug_file debuglink)
xz --check=crc32 -k "$work/debug_file"
cp "$work/stripped" "$work/debugdata"
objcopy --add-section .gnu_debugdata="$work/debug_file.xz" "$work/debugdata"
cat >"$work/notes.s" <<'END'
	.text
	.globl	probed
	.type	probed, @function
probed:	nop
	ret
	.size	probed, .-probed
	.section .probes, "aw", @progbits
counter: .short 0
	.section .stapsdt.base, "a", @progbits
base:	.space 1
	.macro note counter, args
	.balign 4
	.4byte 8, 4f-3f, 3
	.asciz "stapsdt"
3:	.8byte probed, base, \counter
	.asciz "provider"
	.asciz "name"
	.asciz "\args"
4:	.balign 4
	.endm
	.section .note.stapsdt, "", @note
	note 0, "-4@%eax 8@8(%rbp)"
	note counter, "8@$5"
END
as -o "$work/notes.o" "$work/notes.s"
ld -shared -z noseparate-code -z max-page-size=64 -z common-page-size=64 -o "$work/notes" "$work/notes.o"
mkdir -p "$top/fixtures/fuzz/fuzz_object"
install -m 644 "$work/notes" "$top/fixtures/fuzz/fuzz_object/notes"
for target in fuzz_elf fuzz_symtab; do
	mkdir -p "$top/fixtures/fuzz/$target"
	for seed in object.o library compressed stripped debug_file debuglink debugdata; do
		install -m 644 "$work/$seed" "$top/fixtures/fuzz/$target/$seed"
	done
done
