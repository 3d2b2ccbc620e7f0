/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "parse/answer.h"

#define NO	LISTING_NO_TARGET
#define NO_TEXT PARSE_NO_TEXT

/* A worker's messages, part by part. */
struct stream {
	uint8_t bytes[4096];
	size_t size, at;
};

static void say(struct stream *stream, const void *bytes, size_t size)
{
	assert_true(stream->size + size <= sizeof(stream->bytes));
	memcpy(stream->bytes + stream->size, bytes, size);
	stream->size += size;
}

static int take(void *ctx, void *bytes, size_t size)
{
	struct stream *stream = ctx;

	if (size > stream->size - stream->at)
		return -EOWNERDEAD;
	memcpy(bytes, stream->bytes + stream->at, size);
	stream->at += size;
	return 0;
}

static struct answer_reader reader_of(struct stream *stream)
{
	return (struct answer_reader){ .read = take, .ctx = stream, .path = "/bin/x" };
}

static void answered_name_covers_the_requested_address(void **state)
{
	static const struct {
		const char *what;
		struct parse_place place; /* of 0x1003 */
		int code;
	} cases[] = {
		{ "itself alone", { .start = 0x1003 }, 0 },
		{ "its function", { 0x1000, 0x1010, .start = 0x1000 }, 0 },
		{ "a part of it", { 0x1003, 0x1004, .start = 0x900 }, 0 },
		{ "all there is", { 0, UINT64_MAX, .start = 0 }, 0 },
		{ "no name", { 0x1000, 0x1010, SYMBOL_NO_START, PARSE_NO_TEXT, 0 }, 0 },
		{ "a function without name", { 0x1000, 0x1010, 0x1000, PARSE_NO_TEXT, 0 }, 0 },
		{ "a name without start", { .start = SYMBOL_NO_START }, -EBADMSG },
		{ "a start behind it", { .start = 0x1004 }, -EBADMSG },
		{ "a start in the range", { 0x1000, 0x1010, .start = 0x1001 }, -EBADMSG },
		{ "a range before it", { 0x1000, 0x1003, .start = 0x1000 }, -EBADMSG },
		{ "a range behind it", { 0x1004, 0x1010, .start = 0x1000 }, -EBADMSG },
		{ "a range that ends first", { 0x1010, 0x1000, .start = 0x1000 }, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct stream stream = { .size = 0 };
		struct answer_reader reader = reader_of(&stream);
		struct symbol_places places = { .places = NULL };
		const uint64_t vaddr = 0x1003;

		print_message("%s\n", cases[i].what);
		say(&stream, &(struct parse_names){ 1, 5 }, sizeof(struct parse_names));
		say(&stream, &cases[i].place, sizeof(cases[i].place));
		say(&stream, "main", 5);
		assert_int_equal(answer_names(&reader, &vaddr, 1, &places, NULL), cases[i].code);
		symbol_places_fini(&places);
	}
}

/* The first instruction of each of these, at 0x1000. */
static const struct parse_insn call = {
	.target = 0x2000, .target_name = 9, .size = 5, .kind = LISTING_CALL
};

static const struct {
	const char *what;
	struct parse_listing head; /* for 0x1003 */
	struct parse_insn insn;	   /* behind call */
	int code;
	bool is_cut;
} listings[] = {
	{ "all of it",
	  { 0x1000, 0x1006, 2, 14 },
	  { NO, 5, NO_TEXT, 1, LISTING_RETURN, { 0 } },
	  0,
	  false },
	{ "its beginning",
	  { 0x1000, 0x1100, 2, 14 },
	  { NO, 5, NO_TEXT, 1, LISTING_BAD, { 0 } },
	  0,
	  true },
	{ "nothing of it", { 0x1000, 0x1100, 0, 14 }, { 0 }, 0, true },
	{ "another function", { 0x1004, 0x1100, 2, 14 }, { 0 }, -EBADMSG, false },
	{ "one before", { 0xf00, 0x1003, 2, 14 }, { 0 }, -EBADMSG, false },
	{ "a range that ends first", { 0x1100, 0x1000, 2, 14 }, { 0 }, -EBADMSG, false },
	{ "too many", { 0x1000, 0x1100, PARSE_INSNS_MAX + 1, 14 }, { 0 }, -EBADMSG, false },
	{ "too much text", { 0x1000, 0x1100, 2, PARSE_TEXT_MAX + 1 }, { 0 }, -EBADMSG, false },
	{ "behind the end",
	  { 0x1000, 0x1006, 2, 14 },
	  { NO, 5, NO_TEXT, 2, 0, { 0 } },
	  -EBADMSG,
	  false },
	{ "of no bytes",
	  { 0x1000, 0x1006, 2, 14 },
	  { NO, 5, NO_TEXT, 0, 0, { 0 } },
	  -EBADMSG,
	  false },
	{ "of 16 bytes",
	  { 0x1000, 0x1100, 2, 14 },
	  { NO, 5, NO_TEXT, 16, 0, { 0 } },
	  -EBADMSG,
	  false },
	{ "no kind",
	  { 0x1000, 0x1006, 2, 14 },
	  { NO, 5, NO_TEXT, 1, LISTING_KIND_COUNT, { 0 } },
	  -EBADMSG,
	  false },
	{ "no text",
	  { 0x1000, 0x1006, 2, 14 },
	  { NO, NO_TEXT, NO_TEXT, 1, 0, { 0 } },
	  -EBADMSG,
	  false },
	{ "a text outside",
	  { 0x1000, 0x1006, 2, 14 },
	  { NO, 14, NO_TEXT, 1, 0, { 0 } },
	  -EBADMSG,
	  false },
	{ "a name outside",
	  { 0x1000, 0x1006, 2, 14 },
	  { NO, 5, 14, 1, 0, { 0 } },
	  -EBADMSG,
	  false },
};

static void listing_is_the_code_of_the_requested_function(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(listings); i++) {
		struct stream stream = { .size = 0 };
		struct answer_reader reader = reader_of(&stream);
		struct listing listing = { .nr = 0 };

		print_message("%s\n", listings[i].what);
		say(&stream, &listings[i].head, sizeof(listings[i].head));
		if (listings[i].head.nr_insns) {
			say(&stream, &call, sizeof(call));
			say(&stream, &listings[i].insn, sizeof(listings[i].insn));
		}
		say(&stream, "call\0ret\0leaf", 14);
		assert_int_equal(answer_listing(&reader, 0x1003, &listing, NULL), listings[i].code);
		if (listings[i].code)
			continue;
		assert_int_equal(listing.is_cut, listings[i].is_cut);
		assert_int_equal(listing.nr, listings[i].head.nr_insns);
		if (listing.nr) {
			assert_int_equal(listing.insns[1].vaddr, 0x1005);
			assert_string_equal(listing.insns[0].target_name, "leaf");
			assert_string_equal(listing.insns[1].text, "ret");
			assert_null(listing.insns[1].target_name);
		}
		listing_fini(&listing);
	}
}

static const struct {
	const char *what;
	struct parse_answer head;
	const char *text;
	int code;
	const char *msg;
} heads[] = {
	{ "success", { .op = PARSE_TABLE }, "", 0, "" },
	{ "error with a line",
	  { .op = PARSE_TABLE, .code = -ENODATA, .text_size = 12 },
	  "/bin/x: none",
	  -ENODATA,
	  "/bin/x: none" },
	{ "error about another file",
	  { .op = PARSE_TABLE, .code = -ENODATA, .text_size = 5 },
	  "/etc!",
	  -ENODATA,
	  "/bin/x: /etc!" },
	{ "error without a line",
	  { .op = PARSE_TABLE, .code = -ENODATA },
	  "",
	  -ENODATA,
	  "/bin/x: No data available" },
	{ "of another request",
	  { .op = PARSE_FACTS },
	  "",
	  -EBADMSG,
	  "/bin/x: its parser sent an answer to another question" },
	{ "of a request that does not exist", { .op = UINT32_MAX }, "", -EBADMSG, NULL },
	{ "positive code", { .op = PARSE_TABLE, .code = 1 }, "", -EBADMSG, NULL },
	{ "code that is no errno", { .op = PARSE_TABLE, .code = -4096 }, "", -EBADMSG, NULL },
	{ "success with a line", { .op = PARSE_TABLE, .text_size = 1 }, "x", -EBADMSG, NULL },
	{ "line of 4 GiB",
	  { .op = PARSE_TABLE, .code = -1, .text_size = UINT32_MAX },
	  "",
	  -EBADMSG,
	  NULL },
	{ "line that is not there",
	  { .op = PARSE_TABLE, .code = -1, .text_size = 9 },
	  "",
	  -EOWNERDEAD,
	  NULL },
	{ "says it is dead",
	  { .op = PARSE_TABLE, .code = -EOWNERDEAD, .text_size = 1 },
	  "x",
	  -EINVAL,
	  NULL },
};

static void answer_head_matches_the_request(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(heads); i++) {
		struct stream stream = { .size = 0 };
		struct answer_reader reader = reader_of(&stream);
		struct fpl_err err = { 0 };

		print_message("%s\n", heads[i].what);
		say(&stream, &heads[i].head, sizeof(heads[i].head));
		say(&stream, heads[i].text, strlen(heads[i].text));
		assert_int_equal(answer_head(&reader, PARSE_TABLE, &err), heads[i].code);
		if (heads[i].msg)
			assert_string_equal(err.msg, heads[i].msg);
	}
}

static void facts_are_bounded(void **state)
{
	static const struct {
		const char *what;
		uint32_t nr_segments;
		uint64_t build_id_size;
		const char *link;
		int code;
	} cases[] = {
		{ "none", 0, 0, "", 0 },
		{ "two segments", 2, 64, "x.debug", 0 },
		{ "segments that do not come", 3, 0, "", -EOWNERDEAD },
		{ "too many segments", ELF_FILE_SEGMENTS_MAX + 1, 0, "", -EBADMSG },
		{ "4 G segments", UINT32_MAX, 0, "", -EBADMSG },
		{ "build-id too long", 0, ELF_FILE_BUILD_ID_MAX + 1, "", -EBADMSG },
		{ "build-id of 2^64", 0, UINT64_MAX, "", -EBADMSG },
		{ "link up", 0, 0, "..", -EBADMSG },
		{ "link to a path", 0, 0, "a/b", -EBADMSG },
		{ "link without an end", 0, 0, NULL, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct stream stream = { .size = 0 };
		struct answer_reader reader = reader_of(&stream);
		struct parse_facts head = { .nr_segments = cases[i].nr_segments };
		const struct elf_segment segments[2] = { { .type = 1 }, { .vaddr = 7 } };
		struct answer_facts facts = { .segments = NULL };

		print_message("%s\n", cases[i].what);
		head.identity.build_id_size = cases[i].build_id_size;
		if (cases[i].link)
			memcpy(head.link.name, cases[i].link, strlen(cases[i].link));
		else
			memset(head.link.name, 'x', sizeof(head.link.name));
		say(&stream, &head, sizeof(head));
		say(&stream, segments, sizeof(segments));
		assert_int_equal(answer_facts(&reader, &facts, NULL), cases[i].code);
		if (cases[i].nr_segments == 2)
			assert_memory_equal(facts.segments, segments, sizeof(segments));
		free(facts.segments);
	}
}

static void segments_that_wrap_around_make_no_file(void **state)
{
	static const struct elf_segment segments[] = {
		{ .off = UINT64_MAX, .file_size = 1 },
		{ .vaddr = UINT64_MAX, .mem_size = 1 },
		{ .vaddr = UINT64_MAX, .file_size = 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(segments); i++) {
		const struct elf_facts facts = { .segments = &segments[i], .nr_segments = 1 };
		struct elf_file *elf = NULL;

		assert_int_equal(elf_file_assemble(-1, 1, "x", &facts, &elf, NULL), -EINVAL);
	}
}

static void tables_are_bounded_and_hold_together(void **state)
{
	static const struct {
		const char *what;
		struct parse_table head;
		size_t sent;
		int code;
	} cases[] = {
		{ "no bytes", { .image_bytes = 0 }, 0, -EBADMSG },
		{ "4 GiB", { .image_bytes = UINT32_MAX }, 0, -EBADMSG },
		{ "fewer than said", { .image_bytes = 1000 }, 999, -EOWNERDEAD },
		{ "rules outside", { .image_bytes = 1000, .rules_off = 992 }, 1000, -EBADMSG },
		{ "only the empty rule", { .image_bytes = 176, .rules_off = 16 }, 176, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct stream stream = { .size = 0 };
		struct answer_reader reader = reader_of(&stream);
		struct table *table = NULL;

		print_message("%s\n", cases[i].what);
		say(&stream, &cases[i].head, sizeof(cases[i].head));
		stream.size += cases[i].sent;
		assert_int_equal(answer_table(&reader, &table, NULL), cases[i].code);
		table_destroy(table);
	}
}

static void names_lie_inside_their_text(void **state)
{
	static const struct {
		const char *what;
		struct parse_names head;
		uint32_t text;
		int code;
		const char *name;
	} cases[] = {
		{ "one", { 1, 5 }, 0, 0, "main" },
		{ "none", { 1, 5 }, PARSE_NO_TEXT, 0, NULL },
		{ "its tail", { 1, 5 }, 2, 0, "in" },
		{ "at the end", { 1, 5 }, 5, -EBADMSG, NULL },
		{ "far outside", { 1, 5 }, UINT32_MAX - 1, -EBADMSG, NULL },
		{ "without an end", { 1, 4 }, 0, 0, "main" },
		{ "for more addresses", { 2, 5 }, 0, -EBADMSG, NULL },
		{ "for none", { 0, 5 }, 0, -EBADMSG, NULL },
		{ "of 4 GiB", { 1, UINT32_MAX }, 0, -EBADMSG, NULL },
		{ "that do not come", { 1, 6 }, 0, -EOWNERDEAD, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct stream stream = { .size = 0 };
		struct answer_reader reader = reader_of(&stream);
		const struct parse_place place = { .start = 0x1000, .text = cases[i].text };
		const uint64_t vaddr = 0x1003;
		struct symbol_places places = { .places = NULL };

		print_message("%s\n", cases[i].what);
		say(&stream, &cases[i].head, sizeof(cases[i].head));
		say(&stream, &place, sizeof(place));
		say(&stream, "main", 5);
		assert_int_equal(answer_names(&reader, &vaddr, 1, &places, NULL), cases[i].code);
		if (cases[i].name) {
			assert_string_equal(places.places[0].name, cases[i].name);
			assert_int_equal(places.places[0].start, 0x1000);
		} else if (!cases[i].code) {
			assert_null(places.places[0].name);
		}
		free(places.places);
		free(places.text);
	}
}

static const struct {
	const char *what;
	struct parse_lines head;
	struct symbol_chain chain;
	struct parse_line line;
	int code;
	const char *name, *file;
} line_cases[] = {
	{ "one", { 1, 1, 5, 0 }, { 0, 1 }, { 0, 2, 3, 4, 5 }, 0, "main", "in" },
	{ "of no name and file",
	  { 1, 1, 5, 0 },
	  { 0, 1 },
	  { PARSE_NO_TEXT, PARSE_NO_TEXT, 3, 4, 5 },
	  0,
	  NULL,
	  NULL },
	{ "none", { 1, 1, 5, 0 }, { 0, 0 }, { 0, 0, 0, 0, 0 }, 0, NULL, NULL },
	{ "behind the last", { 1, 1, 5, 0 }, { 1, 1 }, { 0, 0, 0, 0, 0 }, -EBADMSG, NULL, NULL },
	{ "far behind",
	  { 1, 1, 5, 0 },
	  { UINT32_MAX, 1 },
	  { 0, 0, 0, 0, 0 },
	  -EBADMSG,
	  NULL,
	  NULL },
	{ "too many", { 1, 1, 5, 0 }, { 0, 2 }, { 0, 0, 0, 0, 0 }, -EBADMSG, NULL, NULL },
	{ "a name outside", { 1, 1, 5, 0 }, { 0, 1 }, { 5, 0, 0, 0, 0 }, -EBADMSG, NULL, NULL },
	{ "a file outside", { 1, 1, 5, 0 }, { 0, 1 }, { 0, 5, 0, 0, 0 }, -EBADMSG, NULL, NULL },
	{ "for more addresses", { 2, 1, 5, 0 }, { 0, 1 }, { 0, 0, 0, 0, 0 }, -EBADMSG, NULL, NULL },
	{ "of 4 GiB", { 1, 1, UINT32_MAX, 0 }, { 0, 1 }, { 0, 0, 0, 0, 0 }, -EBADMSG, NULL, NULL },
	{ "of 4 G lines",
	  { 1, UINT32_MAX, 5, 0 },
	  { 0, 1 },
	  { 0, 0, 0, 0, 0 },
	  -EBADMSG,
	  NULL,
	  NULL },
	{ "that do not come",
	  { 1, 1, 6, 0 },
	  { 0, 1 },
	  { 0, 0, 0, 0, 0 },
	  -EOWNERDEAD,
	  NULL,
	  NULL },
};

static void lines_lie_inside_of_their_answer(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(line_cases); i++) {
		struct stream stream = { .size = 0 };
		struct answer_reader reader = reader_of(&stream);
		struct symbol_chains chains = { .chains = NULL };

		print_message("%s\n", line_cases[i].what);
		say(&stream, &line_cases[i].head, sizeof(line_cases[i].head));
		say(&stream, &line_cases[i].chain, sizeof(line_cases[i].chain));
		say(&stream, &line_cases[i].line, sizeof(line_cases[i].line));
		say(&stream, "main", 5);
		assert_int_equal(answer_lines(&reader, 1, &chains, NULL), line_cases[i].code);
		if (!line_cases[i].code) {
			assert_int_equal(chains.chains[0].nr, line_cases[i].chain.nr);
			assert_int_equal(chains.lines[0].line, line_cases[i].line.line);
		}
		if (line_cases[i].name) {
			assert_string_equal(chains.lines[0].name, line_cases[i].name);
			assert_string_equal(chains.lines[0].file, line_cases[i].file);
		} else if (!line_cases[i].code && line_cases[i].chain.nr) {
			assert_null(chains.lines[0].name);
			assert_null(chains.lines[0].file);
		}
		symbol_chains_fini(&chains);
	}
}

static void frames_have_known_bits_only(void **state)
{
	struct stream stream = { .size = 0 };
	struct answer_reader reader = reader_of(&stream);
	uint8_t bits[2];

	(void)state;
	say(&stream, (const uint8_t[]){ 7, 0, 8 }, 3);
	assert_int_equal(answer_frames(&reader, 2, bits, NULL), 0);
	assert_int_equal(bits[0], 7);
	assert_int_equal(answer_frames(&reader, 1, bits, NULL), -EBADMSG);
	assert_int_equal(answer_frames(&reader, 1, bits, NULL), -EOWNERDEAD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answer_head_matches_the_request),
		cmocka_unit_test(facts_are_bounded),
		cmocka_unit_test(segments_that_wrap_around_make_no_file),
		cmocka_unit_test(tables_are_bounded_and_hold_together),
		cmocka_unit_test(names_lie_inside_their_text),
		cmocka_unit_test(listing_is_the_code_of_the_requested_function),
		cmocka_unit_test(answered_name_covers_the_requested_address),
		cmocka_unit_test(lines_lie_inside_of_their_answer),
		cmocka_unit_test(frames_have_known_bits_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
