/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symtab_read.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "symbolize/plt.h"
#include "symbolize/symtab_build.h"

#define SYMBOLS_PER_READ 2048u

/* Take over from @elf, the object itself, which addresses are code, or data. */
static void set_code(struct symtab *tab, const struct elf_file *elf)
{
	for (size_t i = 0; i < elf->nr_segments && tab->nr_code < SYMTAB_CODE_RANGES_MAX; i++) {
		const struct elf_segment *seg = &elf->segments[i];

		if (seg->type == PT_LOAD && !(seg->flags & PF_X) == tab->is_data)
			tab->code[tab->nr_code++] = (struct symtab_range){
				.start = seg->vaddr,
				.end = seg->vaddr + seg->mem_size,
			};
	}
}

/* Does a symbol of this type name what the table is about? */
static bool is_wanted(const struct symtab *tab, unsigned int type, const Elf64_Sym *sym)
{
	if (tab->is_data)
		return type == STT_OBJECT && sym->st_size;
	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

/* Turn @sym into a symbol of ours; false where it names no code, or no variable. */
static bool convert(const struct symtab *tab, const Elf64_Sym *sym, size_t source,
		    struct symtab_symbol *ret)
{
	unsigned int type = ELF64_ST_TYPE(sym->st_info), bind = ELF64_ST_BIND(sym->st_info);
	bool untyped = type == STT_NOTYPE;
	enum name_binding binding = bind == STB_LOCAL  ? NAME_LOCAL
				    : bind == STB_WEAK ? NAME_WEAK
						       : NAME_GLOBAL;

	if (!is_wanted(tab, type, sym))
		return false;
	if (sym->st_shndx == SHN_UNDEF || (untyped && sym->st_shndx == SHN_ABS) ||
	    sym->st_name == 0 || sym->st_value >= SYMBOL_VADDR_END ||
	    !symtab_code_range(tab, sym->st_value))
		return false;
	*ret = (struct symtab_symbol){
		.key = sym->st_value << 16 | source << SYMBOL_SOURCE_SHIFT |
		       (untyped ? SYMBOL_UNTYPED : 0) | binding,
		.size = sym->st_size > UINT32_MAX ? UINT32_MAX : (uint32_t)sym->st_size,
		.name_off = sym->st_name,
	};
	return true;
}

static const struct elf_section *find_section(const struct elf_file *elf, uint32_t type)
{
	for (size_t i = 1; i < elf->nr_sections; i++) {
		if (elf->sections[i].type == type)
			return &elf->sections[i];
	}
	return NULL;
}

static int add_symbols(struct symtab *tab, const struct elf_file *from,
		       const struct elf_section *section, size_t source, struct fpl_err *err)
{
	AUTO_FREE Elf64_Sym *chunk = malloc(SYMBOLS_PER_READ * sizeof(*chunk));
	uint64_t nr = section->size / sizeof(*chunk);

	if (!chunk)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", from->name);
	for (uint64_t done = 0; done < nr;) {
		size_t n = nr - done < SYMBOLS_PER_READ ? (size_t)(nr - done) : SYMBOLS_PER_READ;
		int rc = elf_file_read(from, section->off + done * sizeof(*chunk), chunk,
				       n * sizeof(*chunk), err);

		if (rc)
			return rc;
		for (size_t i = 0; i < n; i++) {
			struct symtab_symbol symbol;

			if (!convert(tab, &chunk[i], source, &symbol))
				continue;
			rc = symtab_push(tab, &symbol);
			if (rc)
				return fpl_fail(err, rc, "%s: %s: %s", from->name, section->name,
						rc == -EFBIG ? "more than 4 M code symbols"
							     : "out of memory");
		}
		done += n;
	}
	return 0;
}

/* Add the code symbols of the first section of @type (SHT_SYMTAB, SHT_DYNSYM) of @from, if any. */
static int add_section(struct symtab *tab, const struct elf_file *from, uint32_t type,
		       struct fpl_err *err)
{
	const struct elf_section *section = find_section(from, type), *names;

	if (!section || tab->nr_sources == SYMTAB_SOURCES_MAX)
		return 0;
	if (section->entry_size != sizeof(Elf64_Sym))
		return fpl_fail(err, -EINVAL, "%s: %s: entries of %" PRIu64 " bytes", from->name,
				section->name, section->entry_size);
	if (section->off > from->size || section->size > from->size - section->off)
		return fpl_fail(err, -ENODATA, "%s: %s: reaches behind the end of the file",
				from->name, section->name);
	if (section->link == 0 || section->link >= from->nr_sections)
		return fpl_fail(err, -EINVAL, "%s: %s: names in section %u of %zu", from->name,
				section->name, section->link, from->nr_sections);
	names = &from->sections[section->link];
	if (names->type != SHT_STRTAB || (names->flags & SHF_COMPRESSED))
		return fpl_fail(err, -EINVAL, "%s: %s: names in section %u, no string table",
				from->name, section->name, section->link);
	tab->sources[tab->nr_sources] = (struct symtab_source){
		.elf = from,
		.table = section,
		.names_off = names->off,
		.names_size = names->size,
	};
	return add_symbols(tab, from, section, tab->nr_sources++, err);
}

static void cleanup_symtab(struct symtab **tab)
{
	symtab_destroy(*tab);
}

static int create(const struct elf_file *elf, const struct elf_file *const *debug, size_t nr_debug,
		  bool is_data, struct symtab **ret, struct fpl_err *err)
{
	CLEANUP(cleanup_symtab) struct symtab *tab = calloc(1, sizeof(*tab));
	int rc, worst = 0;

	if (tab)
		tab->names = calloc(1, sizeof(*tab->names));
	if (!tab || !tab->names)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", elf->name);
	tab->is_data = is_data;
	set_code(tab, elf);
	rc = add_section(tab, elf, SHT_SYMTAB, err);
	worst = rc ? rc : worst;
	rc = add_section(tab, elf, SHT_DYNSYM, err);
	worst = rc ? rc : worst;
	for (size_t i = 0; i < nr_debug; i++) {
		rc = add_section(tab, debug[i], SHT_SYMTAB, err);
		worst = rc ? rc : worst;
	}
	if (worst == -ENOMEM || (worst && tab->nr == 0))
		return worst;
	rc = symtab_arrange(tab);
	if (!rc && !is_data)
		rc = plt_add_symbols(tab, elf);
	if (!rc && !is_data)
		rc = symtab_arrange(tab);
	if (rc)
		return fpl_fail(err, rc, "%s: out of memory", elf->name);
	*ret = TAKE_PTR(tab);
	return 0;
}

int symtab_create(const struct elf_file *elf, const struct elf_file *const *debug, size_t nr_debug,
		  struct symtab **ret, struct fpl_err *err)
{
	return create(elf, debug, nr_debug, false, ret, err);
}

int symtab_create_data(const struct elf_file *elf, const struct elf_file *const *debug,
		       size_t nr_debug, struct symtab **ret, struct fpl_err *err)
{
	return create(elf, debug, nr_debug, true, ret, err);
}
