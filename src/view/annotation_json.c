/* SPDX-License-Identifier: Apache-2.0 */
#include "view/annotation_json.h"

static void put_text(struct json *json, const char *key, const char *text)
{
	if (text && *text)
		json_string(json, key, text);
}

static void put_number(struct json *json, const char *key, uint64_t number)
{
	if (number)
		json_number(json, key, number);
}

/* The functions inlined there, from the innermost out to the function itself. */
static void put_inlined(struct json *json, const struct annotation *of,
			const struct annotation_insn *insn)
{
	if (insn->nr_sites < 2)
		return;
	json_open(json, "inlined", '[');
	for (uint32_t i = 0; i < insn->nr_sites; i++) {
		const struct annotation_site *site = &of->sites[insn->first_site + i];

		json_open(json, NULL, '{');
		put_text(json, "function", site->function);
		put_text(json, "file", site->file);
		put_number(json, "line", site->line);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void put_insn(struct json *json, const struct annotation *of,
		     const struct annotation_insn *insn)
{
	json_open(json, NULL, '{');
	json_address(json, "vaddr", insn->vaddr);
	json_number(json, "size", insn->size);
	json_number(json, "samples", insn->samples);
	json_string(json, "text", insn->text);
	put_text(json, "target", insn->target_name);
	if (insn->to != ANNOTATION_NONE)
		json_address(json, "jumps_to", of->insns[insn->to].vaddr);
	if (insn->line != ANNOTATION_NONE) {
		json_string(json, "file", of->lines[insn->line].file);
		json_number(json, "line", of->lines[insn->line].number);
	}
	put_inlined(json, of, insn);
	json_close(json, '}');
}

static void put_line(struct json *json, const struct annotation_line *line)
{
	json_open(json, NULL, '{');
	json_string(json, "file", line->file);
	json_number(json, "line", line->number);
	json_number(json, "samples", line->samples);
	if (line->text)
		json_string(json, "source", line->text);
	json_close(json, '}');
}

void annotation_json_write(struct json *json, const struct annotation *annotation)
{
	json_open(json, NULL, '{');
	json_string(json, "function", annotation->function);
	put_text(json, "object", annotation->object);
	put_text(json, "build_id", annotation->build_id);
	put_text(json, "code_from", annotation->path);
	json_number(json, "samples", annotation->samples);
	json_number(json, "elsewhere", annotation->elsewhere);
	if (annotation->nr_insns) {
		json_address(json, "start", annotation->start);
		json_address(json, "end", annotation->end);
	}
	JSON_ARRAY(json, "notes", annotation->nr_notes,
		   json_string(json, NULL, annotation->notes[i]));
	JSON_ARRAY(json, "lines", annotation->nr_lines, put_line(json, &annotation->lines[i]));
	JSON_ARRAY(json, "instructions", annotation->nr_insns,
		   put_insn(json, annotation, &annotation->insns[i]));
	json_close(json, '}');
}
