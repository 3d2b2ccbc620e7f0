/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of a worker as hostile bytes: the first byte says which, the second how many addresses
 * were asked about. Judged: what is handed on lies inside what was sent, and a table that passes
 * answers every lookup with a rule of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parse/answer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct stream {
	const uint8_t *bytes;
	size_t left;
};

static void require(bool holds)
{
	if (!holds)
		abort();
}

static int take(void *ctx, void *bytes, size_t size)
{
	struct stream *stream = ctx;

	if (size > stream->left)
		return -EOWNERDEAD;
	if (size)
		memcpy(bytes, stream->bytes, size);
	stream->bytes += size;
	stream->left -= size;
	return 0;
}

static void judge_facts(struct answer_reader *reader)
{
	struct answer_facts facts;
	struct elf_facts said;
	struct elf_file *elf;

	if (answer_facts(reader, &facts, NULL))
		return;
	said = (struct elf_facts){ .segments = facts.segments,
				   .nr_segments = facts.head.nr_segments,
				   .build_id = facts.head.identity.build_id,
				   .build_id_size = facts.head.identity.build_id_size };
	require(strlen(facts.head.link.name) < sizeof(facts.head.link.name));
	require(!strchr(facts.head.link.name, '/'));
	if (!elf_file_assemble(-1, 1, "fuzz", &said, &elf, NULL)) {
		uint64_t bias;

		/* sums of its fields are safe */
		(void)!elf_file_bias(elf, 0x1000, 0, &bias);
		elf_file_load_at(elf, elf->entry, 1);
		elf_file_close(elf);
	}
	free(facts.segments);
}

static void judge_table(struct answer_reader *reader)
{
	struct table *table;

	if (answer_table(reader, &table, NULL))
		return;
	for (uint64_t at = 0; at < (uint64_t)table->nr_pages << FPL_PAGE_LOG2 && at < 1 << 22;
	     at += 251) {
		const uint8_t *rule = (const void *)table_find(table, table->first_vaddr + at);
		bool inside = false;

		require(rule != NULL);
		for (size_t i = 0; i < table->nr_chunks; i++)
			inside |= rule >= table->chunks[i] &&
				  rule + FPL_RULE_REACH <= table->chunks[i] + FPL_CHUNK_SIZE;
		require(inside);
	}
	table_destroy(table);
}

static void judge_names(struct answer_reader *reader, size_t nr)
{
	struct symbol_places places;
	uint64_t vaddrs[UINT8_MAX + 1];
	size_t total = 0;

	for (size_t i = 0; i < nr; i++)
		vaddrs[i] = 0x1000 + 16 * i;
	if (answer_names(reader, vaddrs, nr, &places, NULL))
		return;
	for (size_t i = 0; i < nr; i++) {
		const struct symbol_place *place = &places.places[i];

		total += place->name ? strlen(place->name) : 0;
		require(!place->name || place->start <= vaddrs[i]);
		require(place->same.start == place->same.end ||
			(place->same.start <= vaddrs[i] && vaddrs[i] < place->same.end));
	}
	require(total <= nr * (size_t)PARSE_TEXT_MAX);
	free(places.places);
	free(places.text);
}

static void judge_lines(struct answer_reader *reader, size_t nr)
{
	struct symbol_chains chains;
	size_t total = 0;

	if (answer_lines(reader, nr, &chains, NULL))
		return;
	for (size_t i = 0; i < nr; i++) {
		const struct symbol_line *lines = chains.lines + chains.chains[i].first;

		require(chains.chains[i].nr <= SYMBOL_LINES_MAX);
		for (uint32_t k = 0; k < chains.chains[i].nr; k++)
			total += (lines[k].name ? strlen(lines[k].name) : 0) +
				 (lines[k].file ? strlen(lines[k].file) : 0);
	}
	require(total <= nr * (size_t)SYMBOL_LINES_MAX * 2 * PARSE_TEXT_MAX);
	symbol_chains_fini(&chains);
}

static void judge_functions(struct answer_reader *reader)
{
	struct vaddr_range *ranges;
	size_t nr;

	if (answer_functions(reader, &ranges, &nr, NULL))
		return;
	for (size_t i = 1; i < nr; i++)
		require(ranges[i - 1].start <= ranges[i].start);
	free(ranges);
}

static void judge_examination(struct answer_reader *reader)
{
	struct examination found;

	if (answer_examination(reader, &found, NULL))
		return;
	require(strlen(found.build_id) < sizeof(found.build_id));
	require(strlen(found.problem) < sizeof(found.problem));
	require(found.coverage.nr_largest <= COVERAGE_LARGEST);
	for (size_t i = 0; i < found.coverage.nr_largest; i++)
		require(strlen(found.coverage.largest[i].name) < COVERAGE_NAME_MAX);
}

static void judge_code(struct answer_reader *reader)
{
	struct code_file_result result;
	struct code_table table;
	char remark[256];

	code_table_init(&table, 65536);
	if (!answer_code(reader, &table, &result, NULL)) {
		require(code_table_bytes(&table) <= table.max_bytes);
		code_file_remark(&result, "fuzz", remark, sizeof(remark));
		for (size_t i = 0; i < table.nr_segments; i++) {
			uint64_t addr = table.segments[i].end - 1;
			struct code_match match;

			for (uint64_t time = 0; time < 4; time++) {
				if (!code_table_find(&table, addr, time, &match))
					continue;
				require(match.start <= addr);
				require(strlen(match.name) <= CODE_NAME_MAX);
			}
		}
	}
	code_table_fini(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stream stream = { data, size };
	struct answer_reader reader = { .read = take, .ctx = &stream, .path = "fuzz" };
	uint8_t head[2], frames[256];
	struct fpl_err err;

	if (take(&stream, head, sizeof(head)))
		return 0;

	enum parse_op op = head[0] % PARSE_OP_COUNT;
	int code = answer_head(&reader, op, &err);

	require(code <= 0 && (!code || !strncmp(err.msg, "fuzz", 4) || code == -EOWNERDEAD));
	if (code)
		return 0;
	if (op == PARSE_FACTS)
		judge_facts(&reader);
	else if (op == PARSE_TABLE)
		judge_table(&reader);
	else if (op == PARSE_NAMES)
		judge_names(&reader, head[1]);
	else if (op == PARSE_LINES)
		judge_lines(&reader, head[1]);
	else if (op == PARSE_FUNCTIONS)
		judge_functions(&reader);
	else if (op == PARSE_EXAMINE)
		judge_examination(&reader);
	else if (op == PARSE_PERF_MAP || op == PARSE_JITDUMP)
		judge_code(&reader);
	else if (op == PARSE_FRAMES && !answer_frames(&reader, head[1], frames, NULL))
		for (size_t i = 0; i < head[1]; i++)
			require(frames[i] < 8);
	return 0;
}
