/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the stubs of the procedure linkage table: "malloc@plt", as gdb, objdump and perf say.
 */
#pragma once

#include "symbolize/symtab_table.h"

#define PLT_STUBS_MAX (1u << 20)

/* The place a stub gets its target from. */
enum plt_link {
	PLT_LINK_SLOT,	/* value: vaddr of the GOT slot it jumps through */
	PLT_LINK_INDEX, /* value: index of its relocation in .rela.plt, which it pushes */
};

struct plt_stub {
	uint64_t vaddr, value;
	uint32_t size;
	enum plt_link link;
	bool named; /* the first relocation that fits names it */
};

/*
 * Add a symbol for each stub of @elf's PLT sections whose target the relocations name. To be called
 * on an arranged table, which must be arranged again afterwards: the target of an IRELATIVE
 * relocation is an address, named by the symbols that start there.
 *
 * Errors: -ENOMEM. Damaged PLT sections or relocations leave their stubs without names.
 */
FPL_MUST_CHECK int plt_add_symbols(struct symtab *tab, const struct elf_file *elf);

/* The part that depends on the architecture: plt_<arch>.c. */
struct plt_arch {
	uint32_t jump_slot, glob_dat, irelative; /* relocation types */
	/* Decode the stub in the @size bytes at @code; false: there is no stub. */
	bool (*decode)(const uint8_t *code, size_t size, struct plt_stub *stub);
};

extern const struct plt_arch plt_x86_64;
