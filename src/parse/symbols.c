/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "parse/message.h"

static void close_debug(struct desk_file *file)
{
	cleanup_fd(&file->debug_fd);
	cleanup_fd(&file->alt_fd);
}

/*
 * The desk for files of @trust. One worker reads those of one owner: questions about files of two
 * in turn would have each anew, so where they go on there are several.
 */
static struct desk *desk_of(struct symbols *symbols, const struct trust *trust)
{
	size_t best = 0;

	if (!symbols->is_live)
		return symbols->desk;
	for (size_t i = 0; i < SYMBOLS_DESKS; i++) {
		if (symbols->live[i].last_use &&
		    memcmp(&symbols->live[i].trust, trust, sizeof(*trust)) == 0) {
			best = i;
			break;
		}
		if (symbols->live[i].last_use < symbols->live[best].last_use)
			best = i;
	}
	if (!symbols->live[best].desk) {
		if (desk_open(symbols->parser, &symbols->live[best].desk, NULL))
			return symbols->desk;
		desk_hush(symbols->live[best].desk);
		desk_keep(symbols->live[best].desk);
		if (symbols->mangled)
			desk_mangled(symbols->live[best].desk);
	}
	symbols->live[best].trust = *trust;
	symbols->live[best].last_use = ++symbols->nr_uses;
	return symbols->live[best].desk;
}

/*
 * Describes the file, its debug file included. @search: how that was looked for, as long as nothing
 * of it has been read; NULL is allowed.
 */
static int describe(struct symbols *symbols, int fd, const char *path, struct desk_file *ret,
		    struct desk **ret_desk, struct name_search *search, struct fpl_err *err)
{
	struct debug_link link;
	struct elf_file *elf;
	int code = desk_file_init(ret, fd, path);

	if (code)
		return fpl_fail(err, code, "%s: %s", path, strerror(-code));
	if (symbols->has_trust)
		ret->trust = symbols->trust;
	*ret_desk = desk_of(symbols, &ret->trust);
	code = desk_facts(*ret_desk, ret, &elf, NULL, &link, err);
	if (code)
		return code;
	if (search)
		name_search_make(parser_opener(symbols->parser), elf, &link, path, search);
	desk_find_debug(*ret_desk, ret, elf, &link, NULL);
	elf_file_close(elf);
	return 0;
}

/* Those of @vaddrs [@nr] that @entry does not know into @ret [@nr]: how many they are. */
static size_t list_unknown(const struct name_entry *entry, const uint64_t *vaddrs, size_t nr,
			   uint64_t *ret)
{
	size_t nr_unknown = 0;

	for (size_t i = 0; i < nr; i++) {
		if (!name_entry_find(entry, vaddrs[i]))
			ret[nr_unknown++] = vaddrs[i];
	}
	return nr_unknown;
}

/* Gives the names of @places [@nr], which are somebody else's, a text of their own. */
static int own_names(struct symbol_places *places, size_t nr)
{
	const char *last = NULL;
	size_t size = 0, done = 0;

	for (size_t i = 0; i < nr; i++) {
		const char *name = places->places[i].name;
		size_t wanted = name && name != last ? strlen(name) + 1 : 0;

		/* no worker sends more */
		if (wanted > PARSE_TEXT_MAX - size)
			places->places[i].name = name = NULL, wanted = 0;
		size += wanted;
		last = name ? name : last;
	}
	places->text = malloc(size + 1);
	if (!places->text)
		return -ENOMEM;

	char *copy = places->text;

	last = NULL;
	for (size_t i = 0; i < nr; i++) {
		const char *name = places->places[i].name;

		if (!name)
			continue;
		if (name != last) {
			size_t wanted = strlen(name) + 1;

			copy = memcpy(places->text + done, name, wanted);
			done += wanted;
		}
		last = name;
		places->places[i].name = copy;
	}
	return 0;
}

/* What @entry knows of @vaddrs [@nr], and @answer of the others, in their order. */
static int join(const struct name_entry *entry, const struct symbol_place *answer,
		const uint64_t *vaddrs, size_t nr, struct symbol_places *ret)
{
	ret->places = calloc(nr + 1, sizeof(*ret->places));
	if (!ret->places)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const struct name_range *range = name_entry_find(entry, vaddrs[i]);

		if (range)
			ret->places[i] =
				(struct symbol_place){ .name = name_entry_text(entry, range),
						       .start = range->origin,
						       .same = { range->start, range->end } };
		else
			ret->places[i] = *answer++;
	}
	return own_names(ret, nr);
}

/* Asks a worker. @search: as in describe(). */
static int ask_names(struct symbols *symbols, int fd, const char *path, const uint64_t *vaddrs,
		     size_t nr, struct name_search *search, struct symbol_places *ret,
		     struct fpl_err *err)
{
	CLEANUP(close_debug) struct desk_file desk_file = { .debug_fd = -1, .alt_fd = -1 };
	struct desk *desk;
	int code = describe(symbols, fd, path, &desk_file, &desk, search, err);

	return code ? code : desk_names(desk, &desk_file, vaddrs, nr, ret, err);
}

static int find_names(void *ctx, int fd, const char *path, const uint64_t *vaddrs, size_t nr,
		      struct symbol_places *ret, struct fpl_err *err)
{
	struct symbols *symbols = ctx;
	struct name_file *file = name_store_find(&symbols->names, fd, path);
	CLEANUP(symbol_places_fini) struct symbol_places answer = { .places = NULL };
	AUTO_FREE uint64_t *unknown = calloc(nr + 1, sizeof(*unknown));
	struct name_search search;
	size_t nr_unknown = nr;
	int code = 0;

	if (!unknown)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", path);
	if (file)
		nr_unknown = list_unknown(&file->entry, vaddrs, nr, unknown);
	else
		memcpy(unknown, vaddrs, nr * sizeof(*unknown));
	symbols->names.nr_known += nr - nr_unknown;
	symbols->names.nr_asked += nr_unknown;
	if (nr_unknown)
		code = ask_names(symbols, fd, path, unknown, nr_unknown, file ? &search : NULL,
				 &answer, err);
	if (!code && file && nr_unknown < nr &&
	    join(&file->entry, answer.places, vaddrs, nr, ret)) {
		symbol_places_fini(ret);
		code = fpl_fail(err, -ENOMEM, "%s: out of memory", path);
	}
	if (!code && file && nr_unknown)
		name_store_add(&symbols->names, file, fd, path, &search, unknown, answer.places,
			       nr_unknown, false);
	if (!code && nr_unknown == nr) {
		*ret = answer;
		answer = (struct symbol_places){ .places = NULL };
	}
	return code;
}

static int find_lines(void *ctx, int fd, const char *path, const uint64_t *vaddrs, size_t nr,
		      struct symbol_chains *ret, struct fpl_err *err)
{
	struct symbols *symbols = ctx;
	struct name_file *file = name_store_find(&symbols->names, fd, path);
	CLEANUP(close_debug) struct desk_file desk_file = { .debug_fd = -1, .alt_fd = -1 };
	struct name_search search;

	if (file && file->entry.has_no_lines)
		return fpl_fail(err, -ENOENT, "%s: had no debugging information before", path);

	struct desk *desk;
	int code = describe(symbols, fd, path, &desk_file, &desk, file ? &search : NULL, err);

	if (code)
		return code;
	desk_find_alt(desk, &desk_file);
	code = desk_lines(desk, &desk_file, vaddrs, nr, ret, err);
	if (code == -ENOENT && file)
		name_store_add(&symbols->names, file, fd, path, &search, NULL, NULL, 0, true);
	return code;
}

static int find_functions(void *ctx, int fd, const char *path, struct vaddr_range **ret,
			  size_t *ret_nr, struct fpl_err *err)
{
	struct symbols *symbols = ctx;
	CLEANUP(close_debug) struct desk_file file = { .debug_fd = -1, .alt_fd = -1 };
	struct desk *desk;
	int code = describe(symbols, fd, path, &file, &desk, NULL, err);

	return code ? code : desk_functions(desk, &file, ret, ret_nr, err);
}

static int find_frames(void *ctx, int fd, const char *path, const uint64_t *vaddrs, size_t nr,
		       uint8_t *ret, struct fpl_err *err)
{
	struct symbols *symbols = ctx;
	CLEANUP(close_debug) struct desk_file file = { .debug_fd = -1, .alt_fd = -1 };
	struct desk *desk;
	int code = describe(symbols, fd, path, &file, &desk, NULL, err);

	return code ? code : desk_frames(desk, &file, vaddrs, nr, ret, err);
}

static void set_trust(void *ctx, const struct trust *trust)
{
	struct symbols *symbols = ctx;

	symbols->has_trust = trust;
	if (trust)
		symbols->trust = *trust;
}

int symbols_init(struct symbols *ret, struct parser *parser, struct disk_cache *cache,
		 struct fpl_err *err)
{
	*ret = (struct symbols){
		.source = { .trust = set_trust,
			    .names = find_names,
			    .lines = find_lines,
			    .functions = find_functions,
			    .frames = find_frames,
			    .ctx = ret },
		.names = { .cache = cache, .opener = parser_opener(parser) },
		.parser = parser,
	};

	int code = desk_open(parser, &ret->desk, err);

	if (!code)
		desk_hush(ret->desk); /* the search for tables has said it */
	return code;
}

void symbols_mangled(struct symbols *symbols)
{
	desk_mangled(symbols->desk);
	symbols->mangled = true;
	symbols->names.mangled = true;
}

void symbols_live(struct symbols *symbols)
{
	desk_keep(symbols->desk);
	symbols->live[0].desk = symbols->desk;
	symbols->is_live = true;
}

void symbols_keep(struct symbols *symbols)
{
	const struct name_store *store = &symbols->names;

	name_store_write(&symbols->names);
	if (disk_cache_is_open(store->cache))
		fpl_log(FPL_LOG_DEBUG,
			"%s: %" PRIu64 " addresses named from there, %" PRIu64 " asked of workers",
			disk_cache_path(store->cache), store->nr_known, store->nr_asked);
}

void symbols_fini(struct symbols *symbols)
{
	name_store_fini(&symbols->names);
	for (size_t i = 1; i < SYMBOLS_DESKS; i++)
		desk_close(symbols->live[i].desk);
	desk_close(symbols->desk);
	symbols->desk = NULL;
}
