/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/strings.h"
#include "parse/job.h"
#include "parse/worker_go.h"
#include "symbolize/debug_index.h"

/* The answer to PARSE_LINES under construction. */
struct lining {
	struct reading *reading;     /* borrowed: its index or its go_lines */
	struct symbol_chain *chains; /* owned [nr_vaddrs] */
	struct parse_line *lines;    /* owned [nr_lines]: texts by their ids until send_lines() */
	size_t nr_lines, room_lines;
	struct strings strings;
};

static void lining_fini(struct lining *lining)
{
	free(lining->chains);
	free(lining->lines);
	strings_fini(&lining->strings);
}

/* The id of @text; PARSE_NO_TEXT without a text, or without room for it. */
static uint32_t text_id(struct lining *lining, const char *text)
{
	uint32_t id;

	if (!text || lining->strings.bytes + strlen(text) + 1 > PARSE_TEXT_MAX ||
	    strings_intern(&lining->strings, text, &id))
		return PARSE_NO_TEXT;
	return id;
}

static bool add_chain(struct lining *lining, const struct symbol_line *found, size_t nr,
		      struct symbol_chain *ret)
{
	if (lining->nr_lines + nr > PARSE_LINES_MAX ||
	    array_reserve(&lining->lines, sizeof(*lining->lines), &lining->room_lines,
			  lining->nr_lines + nr))
		return false;
	*ret = (struct symbol_chain){ .first = (uint32_t)lining->nr_lines, .nr = (uint32_t)nr };
	for (size_t i = 0; i < nr; i++)
		lining->lines[lining->nr_lines++] = (struct parse_line){
			.name = text_id(lining, found[i].name),
			.file = text_id(lining, found[i].file),
			.line = found[i].line,
			.column = found[i].column,
			.start_line = found[i].start_line,
		};
	return true;
}

/* By debug information where there is some, else by the table of a Go program. */
static size_t find(const struct lining *lining, uint64_t vaddr, struct symbol_line *ret)
{
	struct go_place places[SYMBOL_LINES_MAX];
	size_t nr;

	if (lining->reading->index)
		return debug_index_find(lining->reading->index, vaddr, ret);
	nr = go_lines_find(lining->reading->go_lines, vaddr, places, SYMBOL_LINES_MAX);
	for (size_t i = 0; i < nr; i++)
		ret[i] = (struct symbol_line){
			.name = places[i].name,
			.file = places[i].file,
			.line = places[i].line,
			.start_line = places[i].start_line,
		};
	return nr;
}

/* Addresses for which there is no room have no lines. */
static void find_all(const struct job *job, struct lining *lining)
{
	struct symbol_line found[SYMBOL_LINES_MAX];

	for (uint32_t i = 0; i < job->request.nr_vaddrs; i++) {
		size_t nr = find(lining, job->vaddrs[i], found);

		if (nr && !add_chain(lining, found, nr, &lining->chains[i]))
			break;
	}
}

static int open_index(const struct job *job, struct debug_index **index, struct fpl_err *err)
{
	const struct debug_index_options options = {
		.no_demangle = job->request.flags & PARSE_MANGLED,
	};
	int code = -ENOENT;

	if (*index)
		return 0;
	if (job->debug)
		code = debug_index_create(job->debug, job->alt, &options, index, err);
	if (code == -ENOENT)
		code = debug_index_create(job->elf, job->alt, &options, index, err);
	return code == -ENOENT ? worker_go_open(job->elf, &job->reading->go_lines, err) : code;
}

/* All texts one after the other; ids become where they begin. */
static char *join_texts(struct lining *lining)
{
	const struct strings *strings = &lining->strings;
	AUTO_FREE uint32_t *starts = calloc(strings->nr + 1, sizeof(*starts));
	char *text = malloc(strings->bytes + 1);
	uint32_t at = 0;

	if (!starts || !text) {
		free(text);
		return NULL;
	}
	for (size_t i = 0; i < strings->nr; i++) {
		size_t size = strlen(strings->texts[i]) + 1;

		starts[i] = at;
		memcpy(text + at, strings->texts[i], size);
		at += (uint32_t)size;
	}
	for (size_t i = 0; i < lining->nr_lines; i++) {
		struct parse_line *line = &lining->lines[i];

		line->name = line->name == PARSE_NO_TEXT ? PARSE_NO_TEXT : starts[line->name];
		line->file = line->file == PARSE_NO_TEXT ? PARSE_NO_TEXT : starts[line->file];
	}
	return text;
}

static int send_lines(const struct job *job, const struct lining *lining, const char *text)
{
	const struct parse_lines head = {
		.nr_chains = job->request.nr_vaddrs,
		.nr_lines = (uint32_t)lining->nr_lines,
		.text_size = (uint32_t)lining->strings.bytes,
	};
	int rc = job_send(job, &head, sizeof(head));

	if (!rc)
		rc = job_send(job, lining->chains, head.nr_chains * sizeof(*lining->chains));
	if (!rc)
		rc = job_send(job, lining->lines, head.nr_lines * sizeof(*lining->lines));
	return rc ? rc : job_send(job, text, head.text_size);
}

int job_lines(struct job *job)
{
	CLEANUP(lining_fini) struct lining lining = { .nr_lines = 0 };
	AUTO_FREE char *text = NULL;
	struct fpl_err err = { 0 };
	int code = open_index(job, &job->reading->index, &err);

	lining.reading = job->reading;
	strings_init(&lining.strings);
	if (!code) {
		lining.chains = calloc(job->request.nr_vaddrs + 1u, sizeof(*lining.chains));
		if (lining.chains)
			find_all(job, &lining);
		text = join_texts(&lining);
		if (!lining.chains || !text)
			code = fpl_fail(&err, -ENOMEM, "%s: out of memory", job->name);
	}

	int rc = job_answer(job, code, &err);

	return rc || code ? rc : send_lines(job, &lining, text);
}
