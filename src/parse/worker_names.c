/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "obj/mini_debug.h"
#include "parse/job.h"
#include "parse/worker_go.h"
#include "symbolize/demangle.h"
#include "symbolize/symtab_read.h"
#include "unwind/frame_pointer.h"
#include "unwind/function_list.h"

/* The answer to PARSE_NAMES under construction. */
struct naming {
	struct reading *reading;    /* borrowed: of the file */
	struct symtab *tab;	    /* borrowed from there; of variables owned */
	struct parse_place *places; /* owned [nr_vaddrs] */
	char *text;		    /* owned [text_size] */
	size_t text_size, text_room;
	size_t last_idx; /* symbol of the name written last */
	uint32_t last_text;
	bool mangled;
};

static void naming_fini(struct naming *naming)
{
	if (naming->tab != naming->reading->tab)
		symtab_destroy(naming->tab);
	free(naming->places);
	free(naming->text);
}

int job_open_tables(struct reading *reading, struct fpl_err *err)
{
	const struct elf_file *debug[2];
	size_t nr_debug = 0;

	if (reading->tab)
		return 0;
	if (reading->debug)
		debug[nr_debug++] = reading->debug;
	if (mini_debug_open(reading->elf, &reading->mini, NULL) == 0)
		debug[nr_debug++] = reading->mini;

	int code = symtab_create(reading->elf, debug, nr_debug, &reading->tab, err);

	if (!code && !nr_debug)
		code = worker_go_names(reading->elf, &reading->go_lines, reading->tab);
	return code;
}

/* Read the variables of the file. .gnu_debugdata has functions alone. */
static int open_data(struct naming *naming, struct fpl_err *err)
{
	const struct elf_file *debug[] = { naming->reading->debug };

	return symtab_create_data(naming->reading->elf, debug, debug[0] ? 1 : 0, &naming->tab, err);
}

static int open_functions(struct naming *naming, struct fpl_err *err)
{
	int code = job_open_tables(naming->reading, err);

	naming->tab = naming->reading->tab;
	return code;
}

/* Adds @name; PARSE_NO_TEXT where there is no room for it. */
static uint32_t add_text(struct naming *naming, const char *name)
{
	size_t size = strlen(name) + 1, wanted = naming->text_size + size;

	if (wanted > PARSE_TEXT_MAX ||
	    array_reserve(&naming->text, sizeof(*naming->text), &naming->text_room, wanted))
		return PARSE_NO_TEXT;
	memcpy(naming->text + naming->text_size, name, size);
	naming->text_size = wanted;
	return (uint32_t)(wanted - size);
}

/* Addresses ascend, so those of one symbol mostly follow each other. */
static uint32_t text_of(struct naming *naming, const struct symtab_match *match)
{
	if (naming->text_size && match->idx == naming->last_idx)
		return naming->last_text;

	AUTO_FREE char *raw = symtab_name(naming->tab, match);
	AUTO_FREE char *readable = raw && !naming->mangled ? demangle_name(raw) : NULL;

	if (!raw)
		return PARSE_NO_TEXT;
	naming->last_idx = match->idx;
	naming->last_text = add_text(naming, readable ? readable : raw);
	return naming->last_text;
}

void job_read_functions(struct reading *reading)
{
	if (!reading->has_functions)
		(void)!function_list_read(reading->elf, reading->debug, &reading->functions, NULL);
	reading->has_functions = true;
}

/* Code without a name: its function is what the FDEs say, where they can be read. */
static void place_function(struct reading *reading, uint64_t vaddr, struct parse_place *place)
{
	struct vaddr_range same = { place->same_start, place->same_end }, function;

	job_read_functions(reading);
	if (function_list_find(&reading->functions, vaddr, &function))
		place->start = function.start;
	if (same.start == same.end)
		return;
	function_list_narrow(&reading->functions, vaddr, &same);
	place->same_start = same.start;
	place->same_end = same.end;
}

static void name_all(const struct job *job, struct naming *naming)
{
	for (uint32_t i = 0; i < job->request.nr_vaddrs; i++) {
		struct parse_place *place = &naming->places[i];
		uint64_t vaddr = job->vaddrs[i];
		struct symtab_match match;

		*place = (struct parse_place){ .start = SYMBOL_NO_START, .text = PARSE_NO_TEXT };
		if (symtab_find(naming->tab, vaddr, &match)) {
			place->text = text_of(naming, &match);
			place->start = match.start;
			/* there was no room for it: another time there may be */
			if (place->text == PARSE_NO_TEXT)
				match.same = (struct vaddr_range){ 0, 0 };
		}
		/* the last address of all lies in no range */
		if (vaddr < match.same.end) {
			place->same_start = match.same.start;
			place->same_end = match.same.end;
		}
		if (place->text != PARSE_NO_TEXT)
			continue;
		place->start = SYMBOL_NO_START;
		place_function(naming->reading, vaddr, place);
	}
}

static bool is_in_memory(const struct elf_file *elf, uint64_t vaddr)
{
	for (size_t i = 0; i < elf->nr_segments; i++) {
		const struct elf_segment *segment = &elf->segments[i];

		if (segment->type == PT_LOAD && vaddr >= segment->vaddr &&
		    vaddr - segment->vaddr < segment->mem_size)
			return true;
	}
	return false;
}

/* The same of variables. */
static void name_data(const struct job *job, struct naming *naming)
{
	for (uint32_t i = 0; i < job->request.nr_vaddrs; i++) {
		struct parse_place *place = &naming->places[i];
		uint64_t vaddr = job->vaddrs[i];
		struct symtab_match match;

		*place = (struct parse_place){ .start = SYMBOL_NO_START, .text = PARSE_NO_TEXT };
		if (!is_in_memory(naming->reading->elf, vaddr))
			continue;
		place->same_start = vaddr;
		place->same_end = vaddr + 1;
		if (!symtab_find(naming->tab, vaddr, &match))
			continue;
		place->text = text_of(naming, &match);
		place->start = match.start;
	}
}

static int send_names(const struct job *job, const struct naming *naming)
{
	const struct parse_names head = { .nr_places = job->request.nr_vaddrs,
					  .text_size = (uint32_t)naming->text_size };
	int rc = job_send(job, &head, sizeof(head));

	if (!rc)
		rc = job_send(job, naming->places, head.nr_places * sizeof(*naming->places));
	return rc ? rc : job_send(job, naming->text, naming->text_size);
}

int job_names(struct job *job)
{
	CLEANUP(naming_fini)
	struct naming naming = { .reading = job->reading,
				 .mangled = job->request.flags & PARSE_MANGLED };
	struct fpl_err err = { 0 };
	bool is_data = job->request.flags & PARSE_DATA;
	int code = is_data ? open_data(&naming, &err) : open_functions(&naming, &err);

	if (!code) {
		naming.places = calloc(job->request.nr_vaddrs + 1u, sizeof(*naming.places));
		if (naming.places && is_data)
			name_data(job, &naming);
		else if (naming.places)
			name_all(job, &naming);
		else
			code = fpl_fail(&err, -ENOMEM, "%s: out of memory", job->name);
	}

	int rc = job_answer(job, code, &err);

	return rc || code ? rc : send_names(job, &naming);
}

/* The questions of PARSE_FRAMES, each with the function it is in. */
static struct frame_question *make_questions(const struct job *job)
{
	CLEANUP(function_list_fini) struct function_list list = { .nr = 0 };
	uint32_t nr = job->request.nr_vaddrs;
	struct frame_question *questions = calloc(nr + 1u, sizeof(*questions));
	struct vaddr_range function;

	if (!questions)
		return NULL;
	(void)!function_list_read(job->elf, job->debug, &list, NULL);
	for (uint32_t i = 0; i < nr; i++) {
		questions[i].vaddr = job->vaddrs[i];
		if (!function_list_find(&list, job->vaddrs[i], &function))
			continue;
		questions[i].start = function.start;
		questions[i].end = function.end;
	}
	return questions;
}

int job_frames(struct job *job)
{
	uint32_t nr = job->request.nr_vaddrs;
	AUTO_FREE struct frame_question *questions = make_questions(job);
	AUTO_FREE uint8_t *bits = calloc(nr + 1u, sizeof(*bits));
	struct fpl_err err = { 0 };
	int code = questions && bits ? frame_pointer_ask(job->elf, job->debug, questions, nr, &err)
				     : fpl_fail(&err, -ENOMEM, "%s: out of memory", job->name);
	int rc = job_answer(job, code, &err);

	if (rc || code)
		return rc;
	for (uint32_t i = 0; i < nr; i++)
		bits[i] = (uint8_t)((questions[i].known ? SYMBOL_FRAME_KNOWN : 0) |
				    (questions[i].here ? SYMBOL_FRAME_HERE : 0) |
				    (questions[i].anywhere ? SYMBOL_FRAME_ANYWHERE : 0));
	return job_send(job, bits, nr);
}
