/* SPDX-License-Identifier: Apache-2.0 */
/* An ELF object as it lies in the memory of a process, which exports symbols: the least of it that
 * src/jit/symbols.c reads. */
#pragma once

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define JIT_OBJECT_DYNAMIC 0x100u /* offsets in it */
#define JIT_OBJECT_SYMBOLS 0x200u
#define JIT_OBJECT_NAMES   0x300u
#define JIT_OBJECT_HASH	   0x400u
#define JIT_OBJECT_MAX	   4u  /* symbols */
#define JIT_OBJECT_NAME	   32u /* bytes of each name */

/* Put it into @bytes, up to 0x480: the symbols @names [@nr] have these @values. */
static inline void jit_object_put(uint8_t *bytes, const char *const *names, const uint32_t *values,
				  uint32_t nr)
{
	const Elf64_Ehdr head = { .e_ident = ELFMAG,
				  .e_phoff = sizeof(head),
				  .e_phentsize = sizeof(Elf64_Phdr),
				  .e_phnum = 1 };
	const Elf64_Phdr phdr = { .p_type = PT_DYNAMIC, .p_vaddr = JIT_OBJECT_DYNAMIC };
	const Elf64_Dyn dynamic[] = { { .d_tag = DT_SYMTAB, .d_un.d_ptr = JIT_OBJECT_SYMBOLS },
				      { .d_tag = DT_STRTAB, .d_un.d_ptr = JIT_OBJECT_NAMES },
				      { .d_tag = DT_HASH, .d_un.d_ptr = JIT_OBJECT_HASH } };
	/* one bucket, which begins with symbol 1; each symbol leads to the next one */
	uint32_t hash[3 + JIT_OBJECT_MAX + 1] = { 1, nr + 1, 1 };

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), &phdr, sizeof(phdr));
	memcpy(bytes + JIT_OBJECT_DYNAMIC, dynamic, sizeof(dynamic));
	for (uint32_t i = 0; i < nr; i++) {
		const Elf64_Sym symbol = { .st_name = 1 + JIT_OBJECT_NAME * i,
					   .st_shndx = 1,
					   .st_value = values[i] };

		memcpy(bytes + JIT_OBJECT_SYMBOLS + (i + 1) * sizeof(symbol), &symbol,
		       sizeof(symbol));
		memcpy(bytes + JIT_OBJECT_NAMES + symbol.st_name, names[i], strlen(names[i]));
		hash[3 + i + 1] = i + 1 < nr ? i + 2 : 0;
	}
	memcpy(bytes + JIT_OBJECT_HASH, hash, sizeof(hash));
}
