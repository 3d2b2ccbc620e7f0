/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/asker.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "parse/message.h"

/* A file as questions about it need it, its debug file included. */
struct described {
	struct client_file file;
	struct parse_client *client; /* NULL: nothing of it was asked yet */
	struct client_debugging debugging;
	struct name_search search; /* how its debug file was looked for */
	bool has_search;
};

static void described_fini(struct described *described)
{
	if (!described->client)
		return;
	cleanup_fd(&described->file.debug_fd);
	cleanup_fd(&described->file.alt_fd);
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

/* Reads the headers of the file, unless it was met with all that names need of them. */
static int read_headers(struct parse_client *client, const struct client_file *file,
			const struct met_file *met, struct elf_file **ret, struct debug_link *link,
			struct client_debugging *debugging, struct fpl_err *err)
{
	const struct elf_facts facts = { .machine = met->plain.machine,
					 .build_id = met->plain.build_id,
					 .build_id_size = met->plain.build_id_size };

	if (!met->plain.machine)
		return client_headers(client, file, ret, NULL, link, debugging, err);
	*link = (struct debug_link){ .crc = 0 };
	*debugging = (struct client_debugging){ .has_info = false };
	return elf_file_assemble(-1, file->size, file->path, &facts, ret, err);
}

/*
 * Describes the file, unless that was done for the question before. @wants_search: what is met in
 * the search of its debug file is to be noted, before anything of it is read.
 */
static int describe(struct asker *asker, const char *path, const struct met_file *met,
		    bool wants_search, struct described *described, struct fpl_err *err)
{
	struct client_file *file = &described->file;
	struct debug_link link;
	struct elf_file *elf;
	int code;

	if (described->client)
		return 0;
	code = client_file_init(file, met->fd, path);
	if (code)
		return fpl_fail(err, code, "%s: %s", path, strerror(-code));
	/* one that has lost its name would be of another trust */
	file->trust = met->trust;

	struct parse_client *client = client_of(asker, &file->trust);

	code = read_headers(client, file, met, &elf, &link, &described->debugging, err);
	if (code)
		return code;
	if (wants_search)
		name_search_make(parser_opener(asker->options.parser), elf, &link, path,
				 &described->search);
	described->has_search = wants_search;
	client_find_debug(client, file, elf, &link, NULL);
	described->client = client;
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

/* A file that was written to since it was met holds other code. */
static int check_file(const char *path, const struct met_file *met, struct fpl_err *err)
{
	if (file_stamp_holds(&met->stamp, met->fd))
		return 0;
	return fpl_fail(err, -ESTALE, "%s: was written to while it was profiled", path);
}

static int find_names(struct asker *asker, const struct name_question *question,
		      struct described *described, struct symbol_places *ret, struct fpl_err *err)
{
	const char *path = question->path;
	const struct met_file *met = &question->file;
	const uint64_t *vaddrs = question->vaddrs;
	size_t nr = question->nr;
	struct name_file *file = name_store_find(&asker->names, met->fd, path);
	CLEANUP(symbol_places_fini) struct symbol_places answer = { .places = NULL };
	AUTO_FREE uint64_t *unknown = calloc(nr + 1, sizeof(*unknown));
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
		code = describe(asker, path, met, file, described, err);
	if (nr_unknown && !code)
		code = client_names(described->client, &described->file, unknown, nr_unknown,
				    &answer, err);
	if (!code && file && nr_unknown < nr &&
	    join(&file->entry, answer.places, vaddrs, nr, ret)) {
		symbol_places_fini(ret);
		code = fpl_fail(err, -ENOMEM, "%s: out of memory", path);
	}
	if (!code && file && nr_unknown)
		name_store_add(&asker->names, file, met->fd, path, &described->search, unknown,
			       answer.places, nr_unknown, false);
	if (!code && nr_unknown == nr) {
		*ret = answer;
		answer = (struct symbol_places){ .places = NULL };
	}
	return code;
}

/* Asks a worker, unless the headers have said that the file has no lines. */
static int ask_lines(const struct name_question *question, struct described *described,
		     struct symbol_chains *ret, struct fpl_err *err)
{
	if (described->file.debug_fd < 0 && !described->debugging.has_info)
		return fpl_fail(err, -ENOENT, "%s: no debugging information", question->path);
	client_find_alt(described->client, &described->file, &described->debugging);
	return client_lines(described->client, &described->file, question->vaddrs, question->nr,
			    ret, err);
}

static int find_lines(struct asker *asker, const struct name_question *question,
		      struct described *described, struct symbol_chains *ret, struct fpl_err *err)
{
	const char *path = question->path;
	const struct met_file *met = &question->file;
	struct name_file *file = name_store_find(&asker->names, met->fd, path);
	int code;

	if (file && file->entry.has_no_lines)
		return fpl_fail(err, -ENOENT, "%s: had no debugging information before", path);

	code = describe(asker, path, met, file, described, err);
	if (code)
		return code;
	code = ask_lines(question, described, ret, err);
	if (code == -ENOENT && file && described->has_search)
		name_store_add(&asker->names, file, met->fd, path, &described->search, NULL, NULL,
			       0, true);
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
	CLEANUP(described_fini) struct described described = { .client = NULL };
	struct fpl_err err = { 0 };
	int code;

	*ret = (struct name_answer){ .code = 0 };
	ret->code = check_file(question->path, &question->file, &ret->err);
	if (!ret->code)
		ret->code = find_names(asker, question, &described, &ret->places, &ret->err);
	if (!ret->code)
		ret->code = check_file(question->path, &question->file, &ret->err);
	if (ret->code)
		symbol_places_fini(&ret->places);
	if (ret->code || !question->lines)
		return;
	code = find_lines(asker, question, &described, &ret->places.chains, &err);
	ret->has_no_lines = code;
	if (code)
		fpl_log(code == -ENOENT ? FPL_LOG_DEBUG : FPL_LOG_WARN, "%s: its code has no lines",
			err.msg);
}

int asker_frames(struct asker *asker, const char *path, const struct met_file *met,
		 const uint64_t *vaddrs, size_t nr, uint8_t *ret, struct fpl_err *err)
{
	CLEANUP(described_fini) struct described described = { .client = NULL };
	int code = check_file(path, met, err);

	if (!code)
		code = describe(asker, path, met, false, &described, err);
	return code ? code : client_frames(described.client, &described.file, vaddrs, nr, ret, err);
}

int asker_data(struct asker *asker, const char *path, const struct met_file *met,
	       const uint64_t *vaddrs, size_t nr, struct symbol_places *ret, struct fpl_err *err)
{
	CLEANUP(described_fini) struct described described = { .client = NULL };
	int code = check_file(path, met, err);

	if (!code)
		code = describe(asker, path, met, false, &described, err);
	return code ? code : client_data(described.client, &described.file, vaddrs, nr, ret, err);
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
