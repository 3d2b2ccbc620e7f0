/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/symtab.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "symbolize/symtab_table.h"

/* Steps from a symbol to those around it. Real nesting is 1 or 2 deep. */
#define ENCLOSING_MAX 256u
#define PLT_SUFFIX    "@plt"
/* A read of a name costs about as much as this many bytes of a long read. */
#define READ_BYTES 4096u
#define NAMES_MAX  (16u << 20) /* bytes of string tables that are kept */

void symtab_destroy(struct symtab *tab)
{
	if (!tab)
		return;
	for (size_t i = 0; tab->names && i < SYMTAB_SOURCES_MAX; i++)
		free(tab->names->tables[i].bytes);
	free(tab->names);
	free(tab->list);
	free(tab->outer);
	free(tab);
}

size_t symtab_nr_symbols(const struct symtab *tab)
{
	return tab->nr;
}

static uint64_t symbol_end(const struct symtab_symbol *symbol)
{
	return symbol_vaddr(symbol) + symbol->size;
}

int symtab_for_each(const struct symtab *tab,
		    int (*fn)(const struct symtab_entry *entry, void *ctx), void *ctx)
{
	int code = 0;

	for (size_t i = 0; i < tab->nr_arranged && !code; i++) {
		const struct symtab_symbol *symbol = &tab->list[i];
		const struct symtab_entry entry = {
			.match = { .start = symbol_vaddr(symbol),
				   .end = symbol_end(symbol),
				   .idx = i },
			.size = symbol->size,
			.is_plt = symbol->key & SYMBOL_PLT,
		};

		code = fn(&entry, ctx);
	}
	return code;
}

bool symtab_find(const struct symtab *tab, uint64_t vaddr, struct symtab_match *ret)
{
	size_t lo = 0, hi = tab->nr_arranged;
	struct vaddr_range same = { 0, UINT64_MAX };

	/* Invariant: symbols before lo start at or below vaddr; symbols from hi on start above. */
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (symbol_vaddr(&tab->list[mid]) <= vaddr)
			lo = mid + 1;
		else
			hi = mid;
	}
	/* up to the next symbol, and behind all that end before, the answer is one */
	if (lo < tab->nr_arranged)
		same.end = symbol_vaddr(&tab->list[lo]);

	uint32_t idx = lo ? (uint32_t)(lo - 1) : SYMTAB_NO_OUTER;

	for (unsigned int i = 0; i < ENCLOSING_MAX && idx != SYMTAB_NO_OUTER; i++) {
		const struct symtab_symbol *symbol = &tab->list[idx];
		uint64_t start = symbol_vaddr(symbol), end = symbol_end(symbol);

		if (vaddr < end) {
			same.start = same.start > start ? same.start : start;
			same.end = same.end < end ? same.end : end;
			*ret = (struct symtab_match){
				.start = start, .end = end, .idx = idx, .same = same
			};
			return true;
		}
		same.start = same.start > end ? same.start : end;
		idx = tab->outer[idx];
	}
	ret->same = idx == SYMTAB_NO_OUTER ? same : (struct vaddr_range){ 0, 0 };
	return false;
}

/* The string table of source @idx, once so much of it was asked for; NULL: not yet, or never. */
static const char *whole_names(const struct symtab *tab, size_t idx)
{
	const struct symtab_source *source = &tab->sources[idx];
	size_t *nr_read = &tab->names->tables[idx].nr_read;
	AUTO_FREE char *bytes = NULL;

	if (tab->names->tables[idx].bytes || source->names_size > NAMES_MAX ||
	    ++*nr_read != 1 + source->names_size / READ_BYTES)
		return tab->names->tables[idx].bytes;
	bytes = malloc(source->names_size);
	if (!bytes ||
	    elf_file_read(source->elf, source->names_off, bytes, source->names_size, NULL))
		return NULL;
	return tab->names->tables[idx].bytes = TAKE_PTR(bytes);
}

/* Copies what is at @off of string table @idx, up to its NUL, with one. Returns how many bytes. */
static size_t copy_name(const struct symtab *tab, size_t idx, uint64_t off, char *buf,
			size_t buf_size)
{
	const struct symtab_source *source = &tab->sources[idx];
	const char *whole = whole_names(tab, idx);
	uint64_t left = source->names_size - off;
	size_t done = 0, step = 128, max = left < buf_size - 1 ? (size_t)left : buf_size - 1;

	if (whole) {
		done = strnlen(whole + off, max);
		memcpy(buf, whole + off, done);
		buf[done] = '\0';
		return done;
	}
	do {
		size_t n = max - done < step ? max - done : step;

		if (n == 0 ||
		    elf_file_read(source->elf, source->names_off + off + done, buf + done, n, NULL))
			break;
		buf[done + n] = '\0';
		done += n;
		step = 4096;
	} while (strlen(buf) == done);
	return done;
}

/* Read the NUL-terminated name of @symbol into @buf of @buf_size; false: it has no name. */
static bool read_name(const struct symtab *tab, const struct symtab_symbol *symbol, char *buf,
		      size_t buf_size)
{
	size_t idx = symbol_source(symbol);
	char *at;

	if (symbol->name_off >= tab->sources[idx].names_size ||
	    !copy_name(tab, idx, symbol->name_off, buf, buf_size) || buf[0] == '\0')
		return false;
	/* "name@VERSION" and "name@@VERSION": the version is no part of the name. */
	at = strchr(buf + 1, '@');
	if (at)
		*at = '\0';
	if (symbol->key & SYMBOL_PLT) {
		size_t len = strlen(buf);

		if (len + sizeof(PLT_SUFFIX) > buf_size)
			return false;
		memcpy(buf + len, PLT_SUFFIX, sizeof(PLT_SUFFIX));
	}
	return true;
}

/* Labels of the assembler and mapping symbols name no function. */
static bool is_label(const char *name)
{
	return strncmp(name, ".L", 2) == 0 || name[0] == '$';
}

char *symtab_name(const struct symtab *tab, const struct symtab_match *match)
{
	AUTO_FREE char *best = NULL;
	char *name = tab->names->name;
	const struct symtab_symbol *last = &tab->list[match->idx];
	struct name_candidate best_candidate = { 0 };
	unsigned int nr = 0;

	/* Aliases stand before it, largest first: all that start here and reach as far. */
	for (size_t i = match->idx + 1; i-- > 0 && nr < SYMTAB_ALIASES_MAX;) {
		const struct symtab_symbol *symbol = &tab->list[i];
		struct name_candidate candidate = { .text = name,
						    .binding = symbol_binding(symbol),
						    .untyped = symbol_is_untyped(symbol) };

		if (symbol_vaddr(symbol) != symbol_vaddr(last))
			break;
		nr++;
		if (!read_name(tab, symbol, name, SYMTAB_NAME_MAX) ||
		    (candidate.untyped && is_label(name)))
			continue;
		if (best && name_rule_compare(&candidate, &best_candidate) >= 0)
			continue;
		free(best);
		best = strdup(name);
		if (!best)
			return NULL;
		best_candidate = candidate;
		best_candidate.text = best;
	}
	return TAKE_PTR(best);
}
