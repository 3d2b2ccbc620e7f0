/* SPDX-License-Identifier: Apache-2.0 */
/* Functions by their name. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/similar.h"
#include "base/vector.h"
#include "symbolize/probe_sites.h"

#define SYMBOLS_BYTES_MAX (256u << 20) /* of a symbol table */
#define HIDDEN_VERSION	  0x8000u      /* of .gnu.version: not the default */

/* A function of the name. */
struct match {
	uint64_t vaddr, size;
	bool is_ifunc, is_old; /* of a version that is not the default */
};

struct similar {
	char name[SIMILAR_MAX + 1];
	size_t distance;
};

struct search {
	const struct elf_file *elf;
	const char *name;
	size_t name_size;
	VECTOR(struct match) matches;
	bool looks_for_similar;
	struct similar similar[PROBE_SIMILAR_MAX]; /* by distance */
	size_t nr_similar;
};

/* A symbol table, its names, and the versions of its symbols. */
struct symbols {
	Elf64_Sym *list; /* owned [nr] */
	size_t nr;
	char *names; /* owned [names_size + 1], the last a NUL */
	size_t names_size;
	uint16_t *versions; /* owned [nr_versions]; NULL: none */
	size_t nr_versions;
};

static void symbols_fini(struct symbols *symbols)
{
	free(symbols->list);
	free(symbols->names);
	free(symbols->versions);
}

static const struct elf_section *find_section(const struct elf_file *elf, uint32_t type)
{
	for (size_t i = 1; i < elf->nr_sections; i++)
		if (elf->sections[i].type == type)
			return &elf->sections[i];
	return NULL;
}

/* Errors: -ENOMEM; -ENODATA no such section can be read. */
static int read_section(const struct elf_file *elf, const struct elf_section *section, size_t max,
			void *ret, size_t *ret_size)
{
	uint8_t *bytes = NULL;
	int code = section ? elf_file_section_bytes(elf, section, max, &bytes, ret_size, NULL)
			   : -ENODATA;

	if (code)
		return code == -ENOMEM ? code : -ENODATA;
	*(uint8_t **)ret = bytes;
	return 0;
}

static int symbols_read(const struct elf_file *elf, uint32_t type, struct symbols *ret)
{
	const struct elf_section *section = find_section(elf, type);
	size_t size = 0;
	char *names;
	int code = read_section(elf, section, SYMBOLS_BYTES_MAX, &ret->list, &size);

	if (code)
		return code;
	ret->nr = size / sizeof(*ret->list);
	if (section->entry_size != sizeof(*ret->list) || section->link >= elf->nr_sections)
		return -ENODATA;
	code = read_section(elf, &elf->sections[section->link], PROBE_SYMBOL_TEXTS_MAX, &ret->names,
			    &ret->names_size);
	if (code)
		return code;
	names = realloc(ret->names, ret->names_size + 1);
	if (!names)
		return -ENOMEM;
	names[ret->names_size] = '\0';
	ret->names = names;
	if (type != SHT_DYNSYM)
		return 0;
	code = read_section(elf, find_section(elf, SHT_GNU_versym), SYMBOLS_BYTES_MAX,
			    &ret->versions, &size);
	ret->nr_versions = code ? 0 : size / sizeof(*ret->versions);
	return code == -ENOMEM ? code : 0;
}

static bool is_code(const struct search *search, const Elf64_Sym *symbol)
{
	unsigned int type = ELF64_ST_TYPE(symbol->st_info);
	uint64_t off;

	return (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE) &&
	       symbol->st_shndx != SHN_UNDEF &&
	       probe_sites_place(search->elf, symbol->st_value, 1, PF_X, &off);
}

static int add_match(struct search *search, const struct match *match)
{
	for (size_t i = 0; i < search->matches.nr; i++) {
		struct match *known = &search->matches.list[i];

		if (known->vaddr != match->vaddr)
			continue;
		known->is_old &= match->is_old;
		known->is_ifunc |= match->is_ifunc;
		known->size = known->size > match->size ? known->size : match->size;
		return 0;
	}
	/* one more than may be told */
	return search->matches.nr <= PROBE_SAME_NAME_MAX ? vector_push(&search->matches, *match)
							 : 0;
}

/* Keep the name if it is among those most like the one that is looked for. */
static void add_similar(struct search *search, const char *name, size_t len)
{
	struct similar one = { .distance = 0 };
	size_t least = len > search->name_size ? len - search->name_size : search->name_size - len;
	size_t limit = search->name_size / 3 + 2, at;

	if (search->nr_similar == PROBE_SIMILAR_MAX)
		limit = search->similar[PROBE_SIMILAR_MAX - 1].distance;
	if (!len || len > SIMILAR_MAX || least >= limit)
		return;
	memcpy(one.name, name, len);
	one.distance = similar_distance(search->name, one.name);
	if (one.distance >= limit)
		return;
	for (at = 0; at < search->nr_similar; at++)
		if (!strcmp(search->similar[at].name, one.name))
			return;
	if (search->nr_similar < PROBE_SIMILAR_MAX)
		search->nr_similar++;
	for (at = search->nr_similar - 1; at > 0 && search->similar[at - 1].distance > one.distance;
	     at--)
		search->similar[at] = search->similar[at - 1];
	search->similar[at] = one;
}

static int look_at(struct search *search, const struct symbols *symbols, size_t idx)
{
	const Elf64_Sym *symbol = &symbols->list[idx];
	const char *name = symbols->names + symbol->st_name;
	size_t len;

	if (!symbol->st_name || symbol->st_name >= symbols->names_size)
		return 0;
	/* name@VERSION; name@@VERSION: the default */
	len = strcspn(name, "@");
	if (search->looks_for_similar) {
		if (is_code(search, symbol))
			add_similar(search, name, len);
		return 0;
	}
	if (len != search->name_size || memcmp(name, search->name, len) != 0 ||
	    !is_code(search, symbol))
		return 0;

	const struct match match = {
		.vaddr = symbol->st_value,
		.size = symbol->st_size,
		.is_ifunc = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC,
		.is_old = (name[len] && name[len + 1] != '@') ||
			  (idx < symbols->nr_versions && symbols->versions[idx] & HIDDEN_VERSION),
	};

	return add_match(search, &match);
}

static int look_through(struct search *search, const struct elf_file *file, uint32_t type)
{
	CLEANUP(symbols_fini) struct symbols symbols = { .nr = 0 };
	int code = symbols_read(file, type, &symbols);

	for (size_t i = 0; !code && i < symbols.nr; i++)
		code = look_at(search, &symbols, i);
	return code == -ENODATA ? 0 : code;
}

static int look_through_all(struct search *search, const struct elf_file *const *debug,
			    size_t nr_debug)
{
	int code = look_through(search, search->elf, SHT_SYMTAB);

	if (!code)
		code = look_through(search, search->elf, SHT_DYNSYM);
	for (size_t i = 0; !code && i < nr_debug; i++)
		code = look_through(search, debug[i], SHT_SYMTAB);
	return code;
}

/* Tell the first bytes of the function, where the file has them. */
static void add_code(const struct search *search, struct probe_site *site)
{
	if (!elf_file_read(search->elf, site->off, site->code, sizeof(site->code), NULL))
		site->nr_code = sizeof(site->code);
}

/* Tell what was found. */
static int add_sites(const struct search *search, struct probe_sites *sites)
{
	bool has_default = false;
	int code = 0;

	for (size_t i = 0; i < search->matches.nr; i++)
		has_default |= !search->matches.list[i].is_old;
	for (size_t i = 0; !code && i < search->matches.nr; i++) {
		const struct match *match = &search->matches.list[i];
		struct probe_site site = { .vaddr = match->vaddr,
					   .size = match->size <= INT64_MAX ? match->size : 0,
					   .kind = match->is_ifunc ? PROBE_SITE_IFUNC
								   : PROBE_SITE_CODE };

		if ((has_default && match->is_old) ||
		    !probe_sites_place(search->elf, match->vaddr, 1, PF_X, &site.off))
			continue;
		add_code(search, &site);
		code = probe_sites_add(sites, &site, "", search->name, "");
	}
	for (size_t i = 0; !code && i < search->nr_similar; i++)
		code = probe_sites_add(sites, &(struct probe_site){ .kind = PROBE_SITE_SIMILAR },
				       "", search->similar[i].name, "");
	return code;
}

/* Is the name an address of code? */
static bool is_address(const struct search *search, uint64_t *ret)
{
	uint64_t off;
	char *end;

	if (strncmp(search->name, "0x", 2) != 0)
		return false;
	errno = 0;
	*ret = strtoull(search->name, &end, 16);
	return !errno && !*end && end > search->name + 2 &&
	       probe_sites_place(search->elf, *ret, 1, PF_X, &off);
}

int probe_sites_find(const struct elf_file *elf, const struct elf_file *const *debug,
		     size_t nr_debug, const char *name, struct probe_sites *sites,
		     struct fpl_err *err)
{
	struct search search = { .elf = elf, .name = name, .name_size = strlen(name) };
	struct match place = { .size = 0 };
	int code = 0;

	if (is_address(&search, &place.vaddr))
		code = add_match(&search, &place);
	else
		code = look_through_all(&search, debug, nr_debug);
	if (!code && !search.matches.nr) {
		search.looks_for_similar = true;
		code = look_through_all(&search, debug, nr_debug);
	}
	if (!code && search.matches.nr > PROBE_SAME_NAME_MAX)
		code = -E2BIG;
	if (!code)
		code = add_sites(&search, sites);
	vector_fini(&search.matches);
	return code ? fpl_fail(err, code, "%s: %s: %s", elf->name, name,
			       code == -E2BIG ? "too many functions have this name"
					      : "out of memory")
		    : 0;
}
