/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers of a worker as hostile bytes: the first byte says which, the second how many addresses
 * were asked about. Judged: what is handed on lies inside what was sent, and a table that passes
 * answers every lookup with a rule of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/answer_judge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct stream {
	const uint8_t *bytes;
	size_t left;
};

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

static void read_script(struct answer_reader *reader)
{
	struct script_names names;

	if (answer_script(reader, &names, NULL))
		return;
	for (size_t i = 0; i < names.nr_codes; i++) {
		const struct script_name *name = &names.codes[i];

		REQUIRE(name->function == SCRIPT_NO_TEXT ||
			strlen(names.text + name->function) < names.text_size - name->function);
		REQUIRE(name->file == SCRIPT_NO_TEXT ||
			strlen(names.text + name->file) < names.text_size - name->file);
	}
	script_names_fini(&names);
}

static void read_facts(struct answer_reader *reader)
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
	judge_link(&facts.head.link);
	if (!elf_file_assemble(-1, 1, "fuzz", &said, &elf, NULL)) {
		judge_elf(elf);
		elf_file_close(elf);
	}
	free(facts.segments);
}

static void read_table(struct answer_reader *reader)
{
	struct table *table;

	if (answer_table(reader, &table, NULL))
		return;
	judge_table(table);
	table_destroy(table);
}

static void read_names(struct answer_reader *reader, size_t nr)
{
	struct symbol_places places;
	uint64_t vaddrs[UINT8_MAX + 1];

	for (size_t i = 0; i < nr; i++)
		vaddrs[i] = 0x1000 + 16 * i;
	if (answer_names(reader, vaddrs, nr, &places, NULL))
		return;
	judge_names(&places, vaddrs, nr);
	free(places.places);
	free(places.text);
}

static void read_lines(struct answer_reader *reader, size_t nr)
{
	struct symbol_chains chains;

	if (answer_lines(reader, nr, &chains, NULL))
		return;
	judge_lines(&chains, nr);
	symbol_chains_fini(&chains);
}

static void read_listing(struct answer_reader *reader)
{
	struct listing listing;

	if (answer_listing(reader, 0x1000, &listing, NULL))
		return;
	judge_listing(&listing, 0x1000);
	listing_fini(&listing);
}

static void read_probes(struct answer_reader *reader)
{
	struct probe_sites sites;

	if (answer_probes(reader, &sites, NULL))
		return;
	judge_probes(&sites);
	probe_sites_fini(&sites);
}

static void read_code(struct answer_reader *reader)
{
	struct code_file_result result;
	struct code_table table;

	code_table_init(&table, 65536);
	if (!answer_code(reader, &table, &result, NULL))
		judge_code(&table, &result);
	code_table_fini(&table);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct stream stream = { data, size };
	struct answer_reader reader = { .read = take, .ctx = &stream, .path = "fuzz" };
	struct examination found;
	uint8_t head[2], frames[256];
	struct hotspot hotspot;
	struct made_code made;
	struct fpl_err err;

	if (take(&stream, head, sizeof(head)))
		return 0;

	enum parse_op op = head[0] % PARSE_OP_COUNT;
	int code = answer_head(&reader, op, &err);

	REQUIRE(code <= 0 && (!code || !strncmp(err.msg, "fuzz", 4) || code == -EOWNERDEAD));
	if (code)
		return 0;
	if (op == PARSE_FACTS)
		read_facts(&reader);
	else if (op == PARSE_TABLE)
		read_table(&reader);
	else if (op == PARSE_NAMES)
		read_names(&reader, head[1]);
	else if (op == PARSE_LINES)
		read_lines(&reader, head[1]);
	else if (op == PARSE_LISTING)
		read_listing(&reader);
	else if (op == PARSE_FUNCTION || op == PARSE_PROBES)
		read_probes(&reader);
	else if (op == PARSE_EXAMINE && !answer_examination(&reader, &found, NULL))
		judge_examination(&found);
	else if (op == PARSE_JVM && !answer_jvm(&reader, &hotspot, NULL))
		REQUIRE(hotspot_check(&hotspot));
	else if (op == PARSE_MADE && !answer_made(&reader, &made, NULL))
		REQUIRE(made_code_check(&made));
	else if (op == PARSE_SCRIPT)
		read_script(&reader);
	else if (op == PARSE_PERF_MAP || op == PARSE_JITDUMP || op == PARSE_JVM_CODE)
		read_code(&reader);
	else if (op == PARSE_FRAMES && !answer_frames(&reader, head[1], frames, NULL))
		judge_frames(frames, head[1]);
	return 0;
}
