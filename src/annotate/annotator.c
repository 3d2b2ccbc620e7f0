/* SPDX-License-Identifier: Apache-2.0 */
#include "annotate/annotator.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "annotate/sources.h"
#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/sorted.h"
#include "base/strings.h"
#include "naming/object_files.h"
#include "obj/code_segments.h"
#include "parse/client.h"

struct annotator {
	struct annotator_options options;
	struct parser *parser;	     /* owned */
	struct parse_client *client; /* owned */
	struct debuginfod *fetcher;  /* owned; NULL: the network is not asked */
	struct sources *sources;     /* owned */
	struct strings texts;	     /* of annotations */
};

int annotator_open(const struct annotator_options *options, struct annotator **ret,
		   struct fpl_err *err)
{
	struct annotator *annotator = must_calloc(1, sizeof(*annotator));
	int code;

	annotator->options = *options;
	strings_init(&annotator->texts);
	code = options->debuginfod ? debuginfod_open(&annotator->fetcher, err) : 0;
	if (!code)
		code = parser_create(PARSER_EXEC_BARE, &annotator->parser, err);
	if (!code)
		code = client_open(annotator->parser, &annotator->client, err);
	if (code) {
		annotator_close(annotator);
		return code;
	}
	client_keep(annotator->client);
	if (options->no_demangle)
		client_mangled(annotator->client);
	annotator->sources = sources_create(
		&(struct sources_options){ .opener = parser_opener(annotator->parser),
					   .folder = options->folder,
					   .fetcher = annotator->fetcher });
	*ret = annotator;
	return 0;
}

void annotator_close(struct annotator *annotator)
{
	if (!annotator)
		return;
	sources_destroy(annotator->sources);
	debuginfod_close(annotator->fetcher);
	client_close(annotator->client);
	if (annotator->parser)
		parser_destroy(annotator->parser);
	strings_fini(&annotator->texts);
	free(annotator);
}

/* One function in the making. */
struct making {
	struct annotator *annotator;
	const struct recording *recording;
	const struct hot_function *function;
	const struct hot_pc *pcs; /* borrowed [function->nr_pcs] */
	struct annotation *out;

	struct client_file file; /* its descriptors are owned */
	char path[PATH_MAX];
	struct code_segments segments; /* of an object whose pcs are offsets */
	uint8_t build_id[ELF_FILE_BUILD_ID_MAX];
	size_t build_id_size;
	struct listing listing;
	struct symbol_chains chains;
};

static void making_fini(struct making *making)
{
	cleanup_fd(&making->file.fd);
	cleanup_fd(&making->file.debug_fd);
	cleanup_fd(&making->file.alt_fd);
	code_segments_fini(&making->segments);
	listing_fini(&making->listing);
	symbol_chains_fini(&making->chains);
}

/* NULL stays NULL. */
static const char *keep(struct annotator *annotator, const char *text)
{
	if (!text)
		return NULL;
	return strings_text(&annotator->texts, must_strings_intern(&annotator->texts, text));
}

void annotation_add_note(struct annotation *annotation, const char *note)
{
	annotation->notes = must_reallocarray(annotation->notes, annotation->nr_notes + 1,
					      sizeof(*annotation->notes));
	annotation->notes[annotation->nr_notes++] = must_strdup(note);
}

void annotation_fini(struct annotation *annotation)
{
	for (size_t i = 0; i < annotation->nr_notes; i++)
		free((char *)annotation->notes[i]);
	free(annotation->notes);
	free(annotation->insns);
	free(annotation->rows);
	free(annotation->sites);
	free(annotation->lines);
	*annotation = (struct annotation){ .nr_insns = 0 };
}

#define add_note(making, ...)                                      \
	do {                                                       \
		AUTO_FREE char *note = must_asprintf(__VA_ARGS__); \
                                                                   \
		annotation_add_note((making)->out, note);          \
	} while (0)

/* The file with the code, open in making->file. Says what is missing. */
static enum annotation_lack find_file(struct making *making)
{
	struct annotator *annotator = making->annotator;
	const struct annotation *out = making->out;
	int fd = -1, code;

	if (!making->function->object) {
		add_note(making, "this code is in no file: it was made at run time");
		return ANNOTATION_NO_CODE;
	}
	code = object_files_open_code(making->recording, making->function->object,
				      annotator->options.root, annotator->client,
				      annotator->fetcher, &fd, making->path);
	if (code == -ENODATA) {
		add_note(
			making,
			"%s: the recording knows no build-id of it, so no file is known to have this code",
			out->object);
		return ANNOTATION_NO_CODE;
	}
	if (code) {
		add_note(making, "no file here has the code: %s of build-id %s is missing",
			 out->object, out->build_id);
		return ANNOTATION_NO_FILE;
	}
	code = client_file_init(&making->file, fd, making->path);
	if (code) {
		close(fd);
		add_note(making, "%s: %s", making->path, strerror(-code));
		return ANNOTATION_NO_CODE;
	}
	making->out->path = keep(annotator, making->path);
	return ANNOTATION_WHOLE;
}

/* Reads the headers, and finds the debug file and its supplement. */
static int find_debug(struct making *making, struct fpl_err *err)
{
	struct parse_client *client = making->annotator->client;
	CLEANUP(elf_file_cleanup) struct elf_file *elf = NULL;
	struct debug_link link;
	int code = client_facts(client, &making->file, &elf, NULL, &link, err);

	if (code)
		return code;
	making->build_id_size = elf->build_id_size;
	memcpy(making->build_id, elf->build_id, elf->build_id_size);
	if (making->recording->objects[making->function->object].offsets)
		(void)!code_segments_read(elf, &making->segments);
	client_find_debug(client, &making->file, elf, &link, NULL);
	/* a server is asked for what is not here */
	if (making->file.debug_fd < 0 && making->annotator->fetcher &&
	    !debuginfod_fetch(making->annotator->fetcher, elf->build_id, elf->build_id_size,
			      DEBUGINFOD_DEBUG, NULL))
		client_find_debug(client, &making->file, elf, &link, NULL);
	client_find_alt(client, &making->file, NULL);
	return 0;
}

/* @pc as a vaddr; false: it has none. */
static bool to_vaddr(const struct making *making, uint64_t pc, uint64_t *ret)
{
	*ret = pc;
	return !making->recording->objects[making->function->object].offsets ||
	       code_segments_vaddr(&making->segments, pc, ret);
}

static int list_code(struct making *making, struct fpl_err *err)
{
	const struct annotator *annotator = making->annotator;
	uint64_t vaddr;

	if (!to_vaddr(making, making->pcs[0].pc, &vaddr))
		return fpl_fail(err, -ENOENT, "%s: no segment has the code at offset 0x%llx",
				making->path, (unsigned long long)making->pcs[0].pc);
	return client_listing(annotator->client, &making->file, vaddr, annotator->options.intel,
			      &making->listing, err);
}

/* The instruction that @vaddr lies in; listing.nr: none does. */
static size_t insn_at(const struct listing *listing, uint64_t vaddr)
{
	size_t at = SORTED_UP_TO(listing->insns, vaddr, listing->nr, vaddr);

	if (!at || vaddr - listing->insns[at - 1].vaddr >= listing->insns[at - 1].size)
		return listing->nr;
	return at - 1;
}

static void take_insns(struct making *making)
{
	const struct listing *listing = &making->listing;
	struct annotation *out = making->out;

	out->start = listing->range.start;
	out->end = listing->range.end;
	out->insns = must_calloc(listing->nr + 1, sizeof(*out->insns));
	out->nr_insns = listing->nr;
	for (size_t i = 0; i < listing->nr; i++) {
		const struct listing_insn *insn = &listing->insns[i];
		bool jumps = insn->kind == LISTING_JUMP || insn->kind == LISTING_BRANCH;
		size_t to = jumps ? insn_at(listing, insn->target) : listing->nr;

		out->insns[i] = (struct annotation_insn){
			.vaddr = insn->vaddr,
			.size = insn->size,
			.text = keep(making->annotator, insn->text),
			.target_name = keep(making->annotator, insn->target_name),
			.to = to < listing->nr ? (uint32_t)to : ANNOTATION_NONE,
			.line = ANNOTATION_NONE,
		};
	}
	if (listing->is_cut)
		add_note(making, "the function is too long: %zu instructions of it are shown",
			 listing->nr);
}

static void count_samples(struct making *making)
{
	struct annotation *out = making->out;

	out->rows = must_calloc(making->function->nr_pcs, sizeof(*out->rows));
	for (size_t i = 0; i < making->function->nr_pcs; i++) {
		uint64_t vaddr;
		size_t at = to_vaddr(making, making->pcs[i].pc, &vaddr)
				    ? insn_at(&making->listing, vaddr)
				    : out->nr_insns;

		out->rows[i] = (uint32_t)at;
		if (at < out->nr_insns)
			out->insns[at].samples += making->pcs[i].samples;
		else
			out->elsewhere += making->pcs[i].samples;
	}
}

static int ask_lines(struct making *making, struct fpl_err *err)
{
	const struct listing *listing = &making->listing;
	AUTO_FREE uint64_t *vaddrs = must_calloc(listing->nr + 1, sizeof(*vaddrs));

	for (size_t i = 0; i < listing->nr; i++)
		vaddrs[i] = listing->insns[i].vaddr;
	return client_lines(making->annotator->client, &making->file, vaddrs, listing->nr,
			    &making->chains, err);
}

static void take_sites(struct making *making)
{
	struct annotator *annotator = making->annotator;
	struct annotation *out = making->out;
	size_t nr = 0;

	for (size_t i = 0; i < out->nr_insns; i++)
		nr += making->chains.chains[i].nr;
	out->sites = must_calloc(nr + 1, sizeof(*out->sites));
	for (size_t i = 0; i < out->nr_insns; i++) {
		const struct symbol_chain *chain = &making->chains.chains[i];

		out->insns[i].first_site = (uint32_t)out->nr_sites;
		out->insns[i].nr_sites = chain->nr;
		for (uint32_t k = 0; k < chain->nr; k++) {
			const struct symbol_line *line = &making->chains.lines[chain->first + k];

			out->sites[out->nr_sites++] =
				(struct annotation_site){ .function = keep(annotator, line->name),
							  .file = keep(annotator, line->file),
							  .line = line->line };
		}
	}
}

static int by_line(const void *a, const void *b)
{
	const struct annotation_line *left = a, *right = b;
	int order = left->file == right->file ? 0 : strcmp(left->file, right->file);

	if (order)
		return order;
	return left->number < right->number ? -1 : left->number > right->number;
}

/* The innermost site of @insn, if it has a line. */
static const struct annotation_site *line_site(const struct annotation *out,
					       const struct annotation_insn *insn)
{
	const struct annotation_site *site = &out->sites[insn->first_site];

	return insn->nr_sites && site->file && site->line ? site : NULL;
}

static void list_lines(struct annotation *out)
{
	size_t nr = 0;

	out->lines = must_calloc(out->nr_insns + 1, sizeof(*out->lines));
	for (size_t i = 0; i < out->nr_insns; i++) {
		const struct annotation_site *site = line_site(out, &out->insns[i]);

		if (site)
			out->lines[nr++] = (struct annotation_line){ .file = site->file,
								     .number = site->line };
	}
	qsort(out->lines, nr, sizeof(*out->lines), by_line);
	for (size_t i = 0; i < nr; i++) {
		if (!i || by_line(&out->lines[out->nr_lines - 1], &out->lines[i]))
			out->lines[out->nr_lines++] = out->lines[i];
	}
}

static void count_lines(struct annotation *out)
{
	for (size_t i = 0; i < out->nr_insns; i++) {
		struct annotation_insn *insn = &out->insns[i];
		const struct annotation_site *site = line_site(out, insn);
		struct annotation_line key, *line;

		if (!site)
			continue;
		key = (struct annotation_line){ .file = site->file, .number = site->line };
		line = bsearch(&key, out->lines, out->nr_lines, sizeof(key), by_line);
		line->samples += insn->samples;
		insn->line = (uint32_t)(line - out->lines);
	}
}

/* Texts of the lines, and a note for each file that was not read. */
static void read_sources(struct making *making)
{
	const struct sources_object object = { .trust = making->file.trust,
					       .build_id = making->build_id,
					       .build_id_size = making->build_id_size };
	struct annotation *out = making->out;
	const char *said = NULL;
	size_t nr_more = 0;

	if (making->annotator->options.no_sources)
		return;
	for (size_t i = 0; i < out->nr_lines; i++) {
		struct annotation_line *line = &out->lines[i];
		const char *why;

		line->text = sources_line(making->annotator->sources, &object, line->file,
					  line->number, &why);
		if (!why || said == line->file)
			continue;
		if (said)
			nr_more++;
		else
			add_note(making, "source %s: %s", line->file, why);
		said = line->file;
	}
	if (nr_more)
		add_note(making, "%zu more sources are not shown", nr_more);
}

static enum annotation_lack make(struct making *making)
{
	struct fpl_err err = { 0 };
	enum annotation_lack lack = find_file(making);

	if (lack != ANNOTATION_WHOLE)
		return lack;
	if (find_debug(making, &err) || list_code(making, &err)) {
		add_note(making, "%s", err.msg);
		return ANNOTATION_NO_CODE;
	}
	take_insns(making);
	count_samples(making);
	if (ask_lines(making, &err)) {
		add_note(making, "no lines of source: %s", err.msg);
		return ANNOTATION_NO_LINES;
	}
	take_sites(making);
	list_lines(making->out);
	count_lines(making->out);
	read_sources(making);
	if (making->out->nr_lines)
		return ANNOTATION_WHOLE;
	add_note(making,
		 "no lines of source: the debugging information says nothing of this function");
	return ANNOTATION_NO_LINES;
}

enum annotation_lack annotator_make(struct annotator *annotator, const struct recording *recording,
				    const struct hot_code *code,
				    const struct hot_function *function, struct annotation *ret)
{
	const struct recording_object *object = &recording->objects[function->object];
	CLEANUP(making_fini)
	struct making making = { .annotator = annotator,
				 .recording = recording,
				 .function = function,
				 .pcs = &code->pcs[function->first_pc],
				 .out = ret,
				 .file = { .fd = -1, .debug_fd = -1, .alt_fd = -1 } };

	*ret = (struct annotation){ .function = function->name,
				    .object = recording_string(recording, object->path),
				    .build_id = recording_string(recording, object->build_id),
				    .samples = function->samples,
				    .elsewhere = 0,
				    .of = code->samples };
	return make(&making);
}

/* A longer function has its lines with samples alone. */
#define LISTED_LINES_MAX 400u

/* Lines @first to the one of @end - 1, each with its samples, those without included. */
static void fill_lines(struct annotation *out, const struct script_line *begin,
		       const struct script_line *end, uint32_t first)
{
	const char *file = out->object;

	if (!first || first > begin->number)
		first = begin->number;
	if (end[-1].number - first >= LISTED_LINES_MAX) {
		out->lines = must_calloc((size_t)(end - begin), sizeof(*out->lines));
		for (; begin < end; begin++)
			out->lines[out->nr_lines++] = (struct annotation_line){
				.file = file, .number = begin->number, .samples = begin->samples
			};
		return;
	}
	out->lines = must_calloc(end[-1].number - first + 1, sizeof(*out->lines));
	for (uint32_t number = first; begin < end; number++) {
		struct annotation_line *line = &out->lines[out->nr_lines++];

		*line = (struct annotation_line){ .file = file, .number = number };
		if (number == begin->number)
			line->samples = begin++->samples;
	}
}

void annotator_make_script(struct annotator *annotator, const struct recording *recording,
			   const struct script_lines *lines, const struct script_function *function,
			   uint64_t of, struct annotation *ret)
{
	const struct recording_function *at = &recording->functions[function->function];
	const struct script_line *begin = &lines->lines[function->first_line];
	const struct script_line *end = begin + function->nr_lines;
	struct making making = { .annotator = annotator, .out = ret };

	*ret = (struct annotation){ .function = recording_string(recording, at->name),
				    .object = recording_string(recording, at->file),
				    .build_id = "",
				    .samples = function->samples,
				    .of = of };
	/* no line is known of some */
	if (!begin->number)
		begin++;
	if (begin < end)
		fill_lines(ret, begin, end, at->start_line);
	read_sources(&making);
}
