/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/html_code.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "view/jump_lanes.h"

/* [row, "name"...], of rows that lead to another function. */
static void put_targets(struct json *json, const struct annotation *of)
{
	json_open(json, "targets", '[');
	for (size_t i = 0; i < of->nr_insns; i++) {
		if (!of->insns[i].target_name)
			continue;
		json_number(json, NULL, i);
		json_string(json, NULL, of->insns[i].target_name);
	}
	json_close(json, ']');
}

/* How many columns the lines of jumps have, and the parts of each row (struct jump_lanes). */
static void put_jumps(struct json *json, const struct annotation *of)
{
	AUTO_FREE uint32_t *to = must_calloc(of->nr_insns + 1, sizeof(*to));
	struct jump_lanes lanes;

	for (size_t i = 0; i < of->nr_insns; i++)
		to[i] = of->insns[i].to;
	jump_lanes_make(to, of->nr_insns, &lanes);
	json_number(json, "lanes", lanes.nr_columns);
	JSON_COLUMN(json, "jumps", lanes.nr_columns ? of->nr_insns : 0, lanes.rows[i]);
	jump_lanes_fini(&lanes);
}

/* Functions inlined at a row, from the innermost on: [function, file, line...]. */
static void put_inlined(struct json *json, const struct annotation *of, size_t row)
{
	const struct annotation_insn *insn = &of->insns[row];

	json_open(json, NULL, '[');
	for (uint32_t i = 0; insn->nr_sites > 1 && i < insn->nr_sites; i++) {
		const struct annotation_site *site = &of->sites[insn->first_site + i];

		json_string(json, NULL, site->function ? site->function : "");
		json_string(json, NULL, site->file ? site->file : "");
		json_number(json, NULL, site->line);
	}
	json_close(json, ']');
}

/* [row, line or -1, inlined...]: rows from which on code is of another line. */
static void put_places(struct json *json, const struct annotation *of)
{
	json_open(json, "places", '[');
	for (size_t i = 0, end; of->nr_lines && i < of->nr_insns; i = end) {
		uint64_t samples;

		end = annotation_place_end(of, i, &samples);
		json_number(json, NULL, i);
		json_next(json);
		if (of->insns[i].line == ANNOTATION_NONE)
			fputs("-1", json->to);
		else
			fprintf(json->to, "%u", of->insns[i].line);
		put_inlined(json, of, i);
	}
	json_close(json, ']');
}

/* [file, number, source or null]. */
static void put_line(struct json *json, const struct annotation_line *line)
{
	json_open(json, NULL, '[');
	json_string(json, NULL, line->file);
	json_number(json, NULL, line->number);
	if (line->text)
		json_string(json, NULL, line->text);
	else
		json_null(json, NULL);
	json_close(json, ']');
}

static void put_function(struct json *json, const struct annotation *of)
{
	json_open(json, NULL, '{');
	json_string(json, "name", of->function);
	json_string(json, "object", of->object);
	json_address(json, "start", of->start);
	JSON_ARRAY(json, "notes", of->nr_notes, json_string(json, NULL, of->notes[i]));
	JSON_ARRAY(json, "lines", of->nr_lines, put_line(json, &of->lines[i]));
	JSON_COLUMN(json, "size", of->nr_insns, of->insns[i].size);
	JSON_ARRAY(json, "text", of->nr_insns, json_string(json, NULL, of->insns[i].text));
	put_targets(json, of);
	put_jumps(json, of);
	put_places(json, of);
	json_close(json, '}');
}

void html_code_write(struct json *json, const struct annotations *code)
{
	if (!code)
		return;
	json_open(json, "code", '{');
	json_number(json, "left_out", code->left_out);
	JSON_ARRAY(json, "functions", code->nr, put_function(json, &code->list[i]));
	json_close(json, '}');
}
