/* SPDX-License-Identifier: Apache-2.0 */
#include "jit/symbols.h"

#include <elf.h>
#include <errno.h>
#include <libelf.h>
#include <string.h>

#define PHDRS_MAX   64u
#define DYNAMIC_MAX 512u
#define CHAIN_MAX   256u /* symbols of one bucket */

/* The loader of glibc has made it an address, other loaders have not. */
static uint64_t place(const struct jit_symbols *symbols, uint64_t value)
{
	return value < symbols->base ? symbols->base + value : value;
}

static int read_dynamic(struct jit_symbols *symbols, uint64_t addr)
{
	for (size_t i = 0; i < DYNAMIC_MAX; i++) {
		Elf64_Dyn entry;

		if (!jit_read(symbols->memory, addr + i * sizeof(entry), &entry, sizeof(entry)))
			return -EFAULT;
		if (entry.d_tag == DT_NULL)
			break;
		if (entry.d_tag == DT_SYMTAB)
			symbols->symtab = place(symbols, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_STRTAB)
			symbols->strtab = place(symbols, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_GNU_HASH || (entry.d_tag == DT_HASH && !symbols->hash)) {
			symbols->hash = place(symbols, entry.d_un.d_ptr);
			symbols->is_gnu = entry.d_tag == DT_GNU_HASH;
		}
	}
	return symbols->symtab && symbols->strtab && symbols->hash ? 0 : -ENOENT;
}

int jit_symbols_open(struct jit_memory *memory, uint64_t base, struct jit_symbols *ret)
{
	Elf64_Ehdr head;
	Elf64_Phdr phdr;

	*ret = (struct jit_symbols){ .memory = memory, .base = base };
	if (!jit_read(memory, base, &head, sizeof(head)))
		return -EFAULT;
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(phdr) ||
	    head.e_phnum > PHDRS_MAX)
		return -ENOENT;
	for (size_t i = 0; i < head.e_phnum; i++) {
		if (!jit_read(memory, base + head.e_phoff + i * sizeof(phdr), &phdr, sizeof(phdr)))
			return -EFAULT;
		if (phdr.p_type == PT_DYNAMIC)
			return read_dynamic(ret, base + phdr.p_vaddr);
	}
	return -ENOENT;
}

/* The symbol of number @idx, if it has @name. */
static bool is_symbol(const struct jit_symbols *symbols, uint32_t idx, const char *name,
		      uint64_t *ret)
{
	char text[JIT_TEXT_MAX];
	Elf64_Sym sym;

	if (!jit_read(symbols->memory, symbols->symtab + idx * sizeof(sym), &sym, sizeof(sym)) ||
	    sym.st_shndx == SHN_UNDEF ||
	    !jit_read_text(symbols->memory, symbols->strtab + sym.st_name, text) ||
	    strcmp(text, name) != 0)
		return false;
	*ret = symbols->base + sym.st_value;
	return true;
}

static bool find_in_gnu_hash(const struct jit_symbols *symbols, const char *name, uint64_t *ret)
{
	struct {
		uint32_t nr_buckets, first, nr_words, shift;
	} head;
	uint32_t hash = (uint32_t)elf_gnu_hash(name), idx, word;
	uint64_t buckets, chain;

	if (!jit_read(symbols->memory, symbols->hash, &head, sizeof(head)) || !head.nr_buckets)
		return false;
	buckets = symbols->hash + sizeof(head) + 8ull * head.nr_words;
	chain = buckets + 4ull * head.nr_buckets;
	if (!jit_read(symbols->memory, buckets + 4ull * (hash % head.nr_buckets), &idx, 4) ||
	    idx < head.first)
		return false;
	for (size_t i = 0; i < CHAIN_MAX; i++, idx++) {
		if (!jit_read(symbols->memory, chain + 4ull * (idx - head.first), &word, 4))
			return false;
		if ((word | 1) == (hash | 1) && is_symbol(symbols, idx, name, ret))
			return true;
		if (word & 1)
			return false;
	}
	return false;
}

/* JDK 11 has no other hash. */
static bool find_in_hash(const struct jit_symbols *symbols, const char *name, uint64_t *ret)
{
	struct {
		uint32_t nr_buckets, nr_symbols;
	} head;
	uint64_t buckets = symbols->hash + sizeof(head), chain;
	uint32_t idx;

	if (!jit_read(symbols->memory, symbols->hash, &head, sizeof(head)) || !head.nr_buckets)
		return false;
	chain = buckets + 4ull * head.nr_buckets;
	if (!jit_read(symbols->memory, buckets + 4ull * (elf_hash(name) % head.nr_buckets), &idx,
		      4))
		return false;
	for (size_t i = 0; i < CHAIN_MAX && idx && idx < head.nr_symbols; i++) {
		if (is_symbol(symbols, idx, name, ret))
			return true;
		if (!jit_read(symbols->memory, chain + 4ull * idx, &idx, 4))
			return false;
	}
	return false;
}

bool jit_symbol_find(const struct jit_symbols *symbols, const char *name, uint64_t *ret)
{
	return symbols->is_gnu ? find_in_gnu_hash(symbols, name, ret)
			       : find_in_hash(symbols, name, ret);
}
