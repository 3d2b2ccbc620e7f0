/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/answer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "unwind/table_check.h"

#define ERRNO_MAX 4095 /* what a system call can return as error (x86-64 psABI 1.0, A.2.1) */

int answer_refuse(const struct answer_reader *reader, struct fpl_err *err, const char *what)
{
	return fpl_fail(err, -EBADMSG, "%s: its parser sent %s", reader->path, what);
}

static int read_text(struct answer_reader *reader, size_t size, int answer_code,
		     struct fpl_err *err)
{
	char text[sizeof(err->msg)];
	int code = reader->read(reader->ctx, text, size);
	size_t path_size = strlen(reader->path);

	if (code)
		return code;
	text[size] = '\0';
	/* whatever it says, the line names the file it is about */
	if (strncmp(text, reader->path, path_size) == 0)
		return fpl_fail(err, answer_code, "%s", text);
	return fpl_fail(err, answer_code, "%s: %s", reader->path,
			size ? text : strerror(-answer_code));
}

int answer_head(struct answer_reader *reader, enum parse_op op, struct fpl_err *err)
{
	struct parse_answer head;
	int code = reader->read(reader->ctx, &head, sizeof(head));

	if (code)
		return code;
	if (head.op != op || head.code > 0 || head.code < -ERRNO_MAX ||
	    head.text_size >= sizeof(err->msg) || (!head.code && head.text_size))
		return answer_refuse(reader, err, "an answer to another question");
	if (!head.code)
		return 0;
	/* these say what became of the worker, and are not its to say */
	if (head.code == -EBADMSG || head.code == -EOWNERDEAD)
		head.code = -EINVAL;
	return read_text(reader, head.text_size, head.code, err);
}

int answer_facts(struct answer_reader *reader, struct answer_facts *ret, struct fpl_err *err)
{
	AUTO_FREE struct elf_segment *segments = NULL;
	struct parse_facts *head = &ret->head;
	int code = reader->read(reader->ctx, head, sizeof(*head));

	if (code)
		return code;
	if (head->nr_segments > ELF_FILE_SEGMENTS_MAX ||
	    head->identity.build_id_size > ELF_FILE_BUILD_ID_MAX)
		return answer_refuse(reader, err, "more than a file's headers can say");
	if (memchr(head->link.name, '\0', sizeof(head->link.name)) == NULL ||
	    (head->link.name[0] && !debug_link_name_is_plain(head->link.name)))
		return answer_refuse(reader, err, "a debuglink that is no file name");
	if (memchr(head->alt_link.name, '\0', sizeof(head->alt_link.name)) == NULL ||
	    !debug_alt_link_name_is_plain(head->alt_link.name) ||
	    head->alt_link.build_id_size > ELF_FILE_BUILD_ID_MAX)
		return answer_refuse(reader, err, "a malformed link to a supplement");
	segments = calloc(head->nr_segments + 1u, sizeof(*segments));
	if (!segments)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", reader->path);
	code = reader->read(reader->ctx, segments, head->nr_segments * sizeof(*segments));
	if (code)
		return code;
	ret->segments = TAKE_PTR(segments);
	return 0;
}

static int read_image(struct answer_reader *reader, struct table *table, struct fpl_err *err)
{
	if (table_make_room(table))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", reader->path);
	for (size_t i = 0; i < table->nr_chunks; i++) {
		int code = reader->read(reader->ctx, table->chunks[i], table_chunk_bytes(table, i));

		if (code)
			return code;
	}
	return 0;
}

int answer_table(struct answer_reader *reader, struct table **ret, struct fpl_err *err)
{
	CLEANUP(table_cleanup) struct table *table = calloc(1, sizeof(*table));
	struct parse_table head;
	int code = reader->read(reader->ctx, &head, sizeof(head));

	if (code)
		return code;
	if (!table)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", reader->path);
	if (!head.image_bytes || head.image_bytes > PARSE_IMAGE_MAX)
		return answer_refuse(reader, err, "a table of impossible size");
	if (head.script.nr_ranges > SCRIPT_FACTS_RANGES_MAX)
		return answer_refuse(reader, err, "an interpreter in too many parts");
	table->first_vaddr = head.first_vaddr;
	table->entry_vaddr = head.entry_vaddr;
	table->image_bytes = head.image_bytes;
	table->rules_off = head.rules_off;
	table->dir_off = head.dir_off;
	table->nr_pages = head.nr_pages;
	table->stats = head.stats;
	table->script = head.script;
	code = read_image(reader, table, err);
	if (code)
		return code;
	if (table_check(table, NULL))
		return answer_refuse(reader, err, "a table that does not hold together");
	*ret = TAKE_PTR(table);
	return 0;
}

/* Can it be the answer for @vaddr? */
static bool place_is_sound(const struct parse_place *sent, uint64_t vaddr)
{
	bool holds = sent->same_start <= vaddr && vaddr < sent->same_end;

	/* a function that begins behind its code would be at an offset below 0 */
	return (holds || sent->same_start == sent->same_end) &&
	       (sent->start <= vaddr ||
		(sent->text == PARSE_NO_TEXT && sent->start == SYMBOL_NO_START)) &&
	       (!holds || sent->start == SYMBOL_NO_START || sent->start <= sent->same_start);
}

/* Points the places into the text, where that is what they say. */
static bool link_places(const struct parse_place *sent, const uint64_t *vaddrs, size_t nr,
			const char *text, size_t text_size, struct symbol_place *ret)
{
	for (size_t i = 0; i < nr; i++) {
		if (!place_is_sound(&sent[i], vaddrs[i]))
			return false;
		ret[i] = (struct symbol_place){ .start = sent[i].start,
						.same = { sent[i].same_start, sent[i].same_end } };
		if (sent[i].text == PARSE_NO_TEXT)
			continue;
		if (sent[i].text >= text_size)
			return false;
		ret[i].name = text + sent[i].text;
	}
	return true;
}

int answer_names(struct answer_reader *reader, const uint64_t *vaddrs, size_t nr,
		 struct symbol_places *ret, struct fpl_err *err)
{
	struct parse_names head;
	int code = reader->read(reader->ctx, &head, sizeof(head));

	if (code)
		return code;
	if (head.nr_places != nr || head.text_size > PARSE_TEXT_MAX)
		return answer_refuse(reader, err, "more names than were asked for");

	AUTO_FREE struct parse_place *sent = calloc(nr + 1, sizeof(*sent));
	AUTO_FREE struct symbol_place *places = calloc(nr + 1, sizeof(*places));
	AUTO_FREE char *text = malloc(head.text_size + 1u);

	if (!sent || !places || !text)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", reader->path);
	code = reader->read(reader->ctx, sent, nr * sizeof(*sent));
	if (!code)
		code = reader->read(reader->ctx, text, head.text_size);
	if (code)
		return code;
	text[head.text_size] = '\0';
	if (!link_places(sent, vaddrs, nr, text, head.text_size, places))
		return answer_refuse(reader, err,
				     "a name that lies outside its text, or is no answer");
	*ret = (struct symbol_places){ .places = TAKE_PTR(places), .text = TAKE_PTR(text) };
	return 0;
}

int answer_frames(struct answer_reader *reader, size_t nr, uint8_t *ret, struct fpl_err *err)
{
	int code = reader->read(reader->ctx, ret, nr);

	for (size_t i = 0; !code && i < nr; i++) {
		if (ret[i] & ~(SYMBOL_FRAME_KNOWN | SYMBOL_FRAME_HERE | SYMBOL_FRAME_ANYWHERE))
			code = answer_refuse(reader, err, "unknown facts of a frame");
	}
	return code;
}

/* Makes room for what the head announces, which is within the budget. */
static int reserve_code(const struct parse_code *head, struct code_table *table)
{
	table->entries = calloc(head->nr_entries + 1, sizeof(*table->entries));
	table->segments = calloc(head->nr_segments + 1, sizeof(*table->segments));
	table->lines = calloc(head->nr_lines + 1, sizeof(*table->lines));
	table->names = malloc(head->names_size + 1);
	if (!table->entries || !table->segments || !table->lines || !table->names)
		return -ENOMEM;
	table->nr = table->room = head->nr_entries;
	table->nr_segments = head->nr_segments;
	table->nr_lines = table->lines_room = head->nr_lines;
	table->names_size = table->names_room = head->names_size;
	return 0;
}

static bool code_head_is_sound(const struct parse_code *head, size_t max_bytes)
{
	return head->result.end < CODE_FILE_END_COUNT && head->result.fault < CODE_FAULT_COUNT &&
	       head->result.nr_entries <= head->nr_entries && head->names_size <= max_bytes &&
	       head->nr_entries <= (max_bytes - head->names_size) / CODE_ENTRY_CHARGE &&
	       head->nr_lines <= max_bytes / sizeof(struct code_line) &&
	       head->nr_segments <= 2 * head->nr_entries;
}

int answer_code(struct answer_reader *reader, struct code_table *ret,
		struct code_file_result *ret_result, struct fpl_err *err)
{
	struct parse_code head;
	int code = reader->read(reader->ctx, &head, sizeof(head));

	if (code)
		return code;
	if (!code_head_is_sound(&head, ret->max_bytes))
		return answer_refuse(reader, err, "more names than there is room for");
	if (reserve_code(&head, ret))
		return fpl_fail(err, -ENOMEM, "%s: out of memory", reader->path);
	code = reader->read(reader->ctx, ret->entries, ret->nr * sizeof(*ret->entries));
	if (!code)
		code = reader->read(reader->ctx, ret->segments,
				    ret->nr_segments * sizeof(*ret->segments));
	if (!code)
		code = reader->read(reader->ctx, ret->lines, ret->nr_lines * sizeof(*ret->lines));
	if (!code)
		code = reader->read(reader->ctx, ret->names, ret->names_size);
	if (code)
		return code;
	if (!code_table_check(ret))
		return answer_refuse(reader, err, "names of code that do not hold together");
	*ret_result = head.result;
	return 0;
}

int answer_jvm(struct answer_reader *reader, struct hotspot *ret, struct fpl_err *err)
{
	int code = reader->read(reader->ctx, ret, sizeof(*ret));

	if (!code && !hotspot_check(ret))
		code = answer_refuse(reader, err, "what no JVM has");
	return code;
}

int answer_made(struct answer_reader *reader, struct made_code *ret, struct fpl_err *err)
{
	int code = reader->read(reader->ctx, ret, sizeof(*ret));

	if (!code && !made_code_check(ret))
		code = answer_refuse(reader, err, "what no entry leads to");
	return code;
}

int answer_examination(struct answer_reader *reader, struct examination *ret, struct fpl_err *err)
{
	int code = reader->read(reader->ctx, ret, sizeof(*ret));

	if (!code && !examination_check(ret))
		code = answer_refuse(reader, err, "what no file has");
	return code;
}
