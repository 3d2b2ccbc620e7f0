/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/asker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "parse/message.h"

static void close_debug(struct client_file *file)
{
	cleanup_fd(&file->debug_fd);
	cleanup_fd(&file->alt_fd);
}

static int open_client(const struct asker *asker, struct parse_client **ret, struct fpl_err *err)
{
	int code = client_open(asker->options.parser, ret, err);

	if (code)
		return code;
	client_hush(*ret); /* the search for tables has said it */
	if (asker->options.is_live)
		client_keep(*ret);
	if (asker->options.mangled)
		client_mangled(*ret);
	return 0;
}

/*
 * The client for files of @trust. One worker reads those of one owner: questions about files of two
 * in turn would have each anew, so where they go on there are several.
 */
static struct parse_client *client_of(struct asker *asker, const struct trust *trust)
{
	struct asker_client *best = asker->clients;

	for (size_t i = 0; asker->options.is_live && i < ASKER_CLIENTS; i++) {
		struct asker_client *client = &asker->clients[i];

		if (client->last_use && memcmp(&client->trust, trust, sizeof(*trust)) == 0) {
			best = client;
			break;
		}
		if (client->last_use < best->last_use)
			best = client;
	}
	if (!best->client && open_client(asker, &best->client, NULL))
		return asker->clients[0].client;
	best->trust = *trust;
	best->last_use = ++asker->nr_uses;
	return best->client;
}

/*
 * Describes the file, its debug file included. @search: how that was looked for, as long as nothing
 * of it has been read; NULL is allowed.
 */
static int describe(struct asker *asker, const char *path, const struct met_file *met,
		    struct client_file *ret, struct parse_client **ret_client,
		    struct name_search *search, struct fpl_err *err)
{
	struct debug_link link;
	struct elf_file *elf;
	int code = client_file_init(ret, met->fd, path);

	if (code)
		return fpl_fail(err, code, "%s: %s", path, strerror(-code));
	/* one that has lost its name would be of another trust */
	ret->trust = met->trust;
	*ret_client = client_of(asker, &ret->trust);
	code = client_facts(*ret_client, ret, &elf, NULL, &link, err);
	if (code)
		return code;
	if (search)
		name_search_make(parser_opener(asker->options.parser), elf, &link, path, search);
	client_find_debug(*ret_client, ret, elf, &link, NULL);
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

/* Copies the names of @places [@nr], which belong to the entry or the answer. */
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

/* Joins what @entry knows of @vaddrs [@nr] with @answer for the others, in their order. */
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
static int ask_names(struct asker *asker, const char *path, const struct met_file *met,
		     const uint64_t *vaddrs, size_t nr, struct name_search *search,
		     struct symbol_places *ret, struct fpl_err *err)
{
	CLEANUP(close_debug) struct client_file file = { .debug_fd = -1, .alt_fd = -1 };
	struct parse_client *client;
	int code = describe(asker, path, met, &file, &client, search, err);

	return code ? code : client_names(client, &file, vaddrs, nr, ret, err);
}

/* A file that was written to since it was met holds other code. */
static int check_file(const char *path, const struct met_file *met, struct fpl_err *err)
{
	if (file_stamp_holds(&met->stamp, met->fd))
		return 0;
	return fpl_fail(err, -ESTALE, "%s: was written to while it was profiled", path);
}

static int find_names(struct asker *asker, const char *path, const struct met_file *met,
		      const uint64_t *vaddrs, size_t nr, struct symbol_places *ret,
		      struct fpl_err *err)
{
	struct name_file *file = name_store_find(&asker->names, met->fd, path);
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
	asker->names.nr_known += nr - nr_unknown;
	asker->names.nr_asked += nr_unknown;
	if (nr_unknown)
		code = ask_names(asker, path, met, unknown, nr_unknown, file ? &search : NULL,
				 &answer, err);
	if (!code && file && nr_unknown < nr &&
	    join(&file->entry, answer.places, vaddrs, nr, ret)) {
		symbol_places_fini(ret);
		code = fpl_fail(err, -ENOMEM, "%s: out of memory", path);
	}
	if (!code && file && nr_unknown)
		name_store_add(&asker->names, file, met->fd, path, &search, unknown, answer.places,
			       nr_unknown, false);
	if (!code && nr_unknown == nr) {
		*ret = answer;
		answer = (struct symbol_places){ .places = NULL };
	}
	return code;
}

static int find_lines(struct asker *asker, const struct name_question *question,
		      struct symbol_chains *ret, struct fpl_err *err)
{
	const char *path = question->path;
	const struct met_file *met = &question->file;
	struct name_file *file = name_store_find(&asker->names, met->fd, path);
	CLEANUP(close_debug) struct client_file client_file = { .debug_fd = -1, .alt_fd = -1 };
	struct name_search search;

	if (file && file->entry.has_no_lines)
		return fpl_fail(err, -ENOENT, "%s: had no debugging information before", path);

	struct parse_client *client;
	int code = describe(asker, path, met, &client_file, &client, file ? &search : NULL, err);

	if (code)
		return code;
	client_find_alt(client, &client_file);
	code = client_lines(client, &client_file, question->vaddrs, question->nr, ret, err);
	if (code == -ENOENT && file)
		name_store_add(&asker->names, file, met->fd, path, &search, NULL, NULL, 0, true);
	return code;
}

void name_question_fini(struct name_question *question)
{
	free(question->vaddrs);
	free(question->places);
	*question = (struct name_question){ .file.fd = -1 };
}

void asker_ask(struct asker *asker, const struct name_question *question, struct name_answer *ret)
{
	struct fpl_err err = { 0 };
	int code;

	*ret = (struct name_answer){ .code = 0 };
	ret->code = check_file(question->path, &question->file, &ret->err);
	if (!ret->code)
		ret->code = find_names(asker, question->path, &question->file, question->vaddrs,
				       question->nr, &ret->places, &ret->err);
	if (!ret->code)
		ret->code = check_file(question->path, &question->file, &ret->err);
	if (ret->code)
		symbol_places_fini(&ret->places);
	if (ret->code || !question->lines)
		return;
	code = find_lines(asker, question, &ret->places.chains, &err);
	ret->has_no_lines = code;
	if (code)
		fpl_log(code == -ENOENT ? FPL_LOG_DEBUG : FPL_LOG_WARN, "%s: its code has no lines",
			err.msg);
}

int asker_frames(struct asker *asker, const char *path, const struct met_file *met,
		 const uint64_t *vaddrs, size_t nr, uint8_t *ret, struct fpl_err *err)
{
	CLEANUP(close_debug) struct client_file file = { .debug_fd = -1, .alt_fd = -1 };
	struct parse_client *client;
	int code = check_file(path, met, err);

	if (!code)
		code = describe(asker, path, met, &file, &client, NULL, err);
	return code ? code : client_frames(client, &file, vaddrs, nr, ret, err);
}

int asker_init(struct asker *ret, const struct asker_options *options, struct fpl_err *err)
{
	*ret = (struct asker){
		.options = *options,
		.names = { .cache = options->cache,
			   .opener = parser_opener(options->parser),
			   .mangled = options->mangled },
	};
	return open_client(ret, &ret->clients[0].client, err);
}

void asker_keep(struct asker *asker)
{
	const struct name_store *store = &asker->names;

	name_store_write(&asker->names);
	if (disk_cache_is_open(store->cache))
		fpl_log(FPL_LOG_DEBUG,
			"%s: %" PRIu64 " addresses named from there, %" PRIu64 " asked of workers",
			disk_cache_path(store->cache), store->nr_known, store->nr_asked);
}

void asker_fini(struct asker *asker)
{
	name_store_fini(&asker->names);
	for (size_t i = ASKER_CLIENTS; i-- > 0;)
		client_close(asker->clients[i].client);
	*asker = (struct asker){ .nr_uses = 0 };
}
