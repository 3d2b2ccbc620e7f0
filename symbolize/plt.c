/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/plt.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbolize/symtab_build.h"

#define SECTION_BYTES_MAX (64u << 20)
#define RELOCATIONS_MAX	  (16u << 20) /* looked at in all */
#define RELOCATIONS_READ  2048u
#define STUBS_PER_SLOT	  4u

struct plt {
	struct symtab *tab;
	const struct elf_file *elf;
	const struct plt_arch *arch;
	const struct elf_section *dynsym; /* NULL: none; then only IRELATIVE can be named */
	size_t dynsym_source;
	VECTOR(struct plt_stub); /* by link and value */
	uint64_t relocations_left;
};

static void cleanup_plt(struct plt *plt)
{
	vector_fini(plt);
}

static int read_stubs(struct plt *plt, const struct elf_section *section)
{
	AUTO_FREE uint8_t *code = NULL;
	size_t size, step = section->entry_size == 8 ? 8 : 16;
	int rc;

	if (section->vaddr >= SYMBOL_VADDR_END ||
	    elf_file_section_bytes(plt->elf, section, SECTION_BYTES_MAX, &code, &size, NULL))
		return 0;
	for (size_t off = 0; off + step <= size; off += step) {
		struct plt_stub stub = { .vaddr = section->vaddr + off, .size = (uint32_t)step };

		if (stub.vaddr >= SYMBOL_VADDR_END || !plt->arch->decode(code + off, step, &stub))
			continue;
		rc = plt->nr == PLT_STUBS_MAX ? -EFBIG : vector_push(plt, stub);
		if (rc)
			return rc;
	}
	return 0;
}

static int compare_stubs(const void *left, const void *right)
{
	const struct plt_stub *a = left, *b = right;

	if (a->link != b->link)
		return a->link < b->link ? -1 : 1;
	if (a->value != b->value)
		return a->value < b->value ? -1 : 1;
	return a->vaddr < b->vaddr ? -1 : a->vaddr > b->vaddr;
}

/* The first stub with @link and @value or above. */
static size_t first_stub(const struct plt *plt, enum plt_link link, uint64_t value)
{
	const struct plt_stub key = { .link = link, .value = value };
	size_t lo = 0, hi = plt->nr;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (compare_stubs(&plt->list[mid], &key) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int add_named_stub(struct plt *plt, struct plt_stub *stub, size_t source, uint32_t name_off,
			  enum name_binding binding)
{
	const struct symtab_symbol symbol = {
		.key = stub->vaddr << 16 | SYMBOL_PLT | source << SYMBOL_SOURCE_SHIFT | binding,
		.size = stub->size,
		.name_off = name_off,
	};

	stub->named = true;
	return symtab_push(plt->tab, &symbol);
}

/* Name @stub after the symbol that @rela binds its slot to. */
static int name_stub(struct plt *plt, struct plt_stub *stub, const Elf64_Rela *rela)
{
	uint64_t idx = ELF64_R_SYM(rela->r_info);
	struct symtab_match match;
	Elf64_Sym sym;
	int rc = 0;

	if (ELF64_R_TYPE(rela->r_info) != plt->arch->irelative) {
		if (!plt->dynsym || idx == 0 || idx >= plt->dynsym->size / sizeof(Elf64_Sym) ||
		    elf_file_read(plt->elf, plt->dynsym->off + idx * sizeof(sym), &sym, sizeof(sym),
				  NULL) ||
		    sym.st_name == 0)
			return 0;
		return add_named_stub(plt, stub, plt->dynsym_source, sym.st_name, NAME_GLOBAL);
	}
	if (!symtab_find(plt->tab, (uint64_t)rela->r_addend, &match) ||
	    match.start != (uint64_t)rela->r_addend)
		return 0;
	/* All its aliases, so that the same one is chosen as at the function itself. */
	for (size_t i = match.idx + 1, nr = 0; i-- > 0 && nr < SYMTAB_ALIASES_MAX && !rc; nr++) {
		const struct symtab_symbol symbol = plt->tab->list[i];

		if (symbol_vaddr(&symbol) != match.start)
			break;
		rc = add_named_stub(plt, stub, symbol_source(&symbol), symbol.name_off,
				    symbol_binding(&symbol));
	}
	return rc;
}

static int name_by(struct plt *plt, enum plt_link link, uint64_t value, const Elf64_Rela *rela)
{
	size_t first = first_stub(plt, link, value);

	/* One stub of each kind is meant; a hostile PLT may have a million. */
	for (size_t i = first; i < plt->nr && i < first + STUBS_PER_SLOT &&
			       plt->list[i].link == link && plt->list[i].value == value;
	     i++) {
		int rc = 0;

		if (!plt->list[i].named)
			rc = name_stub(plt, &plt->list[i], rela);
		if (rc)
			return rc;
	}
	return 0;
}

static int read_relocations(struct plt *plt, const struct elf_section *section)
{
	AUTO_FREE Elf64_Rela *chunk = malloc(RELOCATIONS_READ * sizeof(*chunk));
	uint64_t nr = section->size / sizeof(*chunk);
	bool is_plt = strcmp(section->name, ".rela.plt") == 0;
	int rc = 0;

	if (!chunk)
		return -ENOMEM;
	if (nr > plt->relocations_left)
		nr = plt->relocations_left;
	plt->relocations_left -= nr;
	for (uint64_t done = 0; done < nr && !rc;) {
		size_t n = nr - done < RELOCATIONS_READ ? (size_t)(nr - done) : RELOCATIONS_READ;

		if (elf_file_read(plt->elf, section->off + done * sizeof(*chunk), chunk,
				  n * sizeof(*chunk), NULL))
			return 0;
		for (size_t i = 0; i < n && !rc; i++) {
			uint32_t type = ELF64_R_TYPE(chunk[i].r_info);

			if (type != plt->arch->jump_slot && type != plt->arch->glob_dat &&
			    type != plt->arch->irelative)
				continue;
			rc = name_by(plt, PLT_LINK_SLOT, chunk[i].r_offset, &chunk[i]);
			if (!rc && is_plt)
				rc = name_by(plt, PLT_LINK_INDEX, done + i, &chunk[i]);
		}
		done += n;
	}
	return rc;
}

static int collect_stubs(struct plt *plt)
{
	for (size_t i = 1; i < plt->elf->nr_sections; i++) {
		const struct elf_section *section = &plt->elf->sections[i];
		int rc;

		if (section->type != SHT_PROGBITS || !(section->flags & SHF_EXECINSTR) ||
		    (strncmp(section->name, ".plt", 4) != 0 && strcmp(section->name, ".iplt") != 0))
			continue;
		rc = read_stubs(plt, section);
		if (rc)
			return rc;
	}
	if (plt->nr)
		qsort(plt->list, plt->nr, sizeof(*plt->list), compare_stubs);
	return 0;
}

int plt_add_symbols(struct symtab *tab, const struct elf_file *elf)
{
	CLEANUP(cleanup_plt)
	struct plt plt = { .tab = tab, .elf = elf, .relocations_left = RELOCATIONS_MAX };
	int rc;

	if (elf->machine != EM_X86_64)
		return 0;
	plt.arch = &plt_x86_64;
	for (size_t i = 0; i < tab->nr_sources; i++) {
		if (tab->sources[i].elf == elf && tab->sources[i].table->type == SHT_DYNSYM) {
			plt.dynsym = tab->sources[i].table;
			plt.dynsym_source = i;
		}
	}
	rc = collect_stubs(&plt);
	for (size_t i = 1; i < elf->nr_sections && plt.nr && !rc; i++) {
		const struct elf_section *section = &elf->sections[i];

		if (section->type == SHT_RELA && (section->flags & SHF_ALLOC) &&
		    section->off <= elf->size && section->size <= elf->size - section->off)
			rc = read_relocations(&plt, section);
	}
	return rc == -EFBIG ? 0 : rc;
}
