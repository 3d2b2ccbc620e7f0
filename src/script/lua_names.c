// SPDX-License-Identifier: Apache-2.0
#include "script/lua.h"

#include <stdio.h>
#include <string.h>

#include "script/bytes.h"

/* A mark is {number of an instruction, its line}. */
#define MARK_BYTES   8u
#define LINE_IN_MARK (-128) /* ABSLINEINFO: the line of this instruction is in a mark */

/* A text that is no file's name is code; so much of its first line is shown (LUA_IDSIZE). */
#define CODE_SHOWN 45u

/* The source in @bytes [@size] as Lua's own messages have it: a file as it was named, "=x" as x,
 * code by its first line. */
static void read_source(const uint8_t *bytes, size_t size, char *ret)
{
	char source[FPL_SCRIPT_TEXT_BYTES];
	size_t length = 0, shown;

	while (LUA_STRING_BYTES_OFF + length < size && bytes[LUA_STRING_BYTES_OFF + length])
		length++;
	memcpy(source, bytes + LUA_STRING_BYTES_OFF, length);
	source[length] = '\0';
	if (source[0] == '@' || source[0] == '=') {
		snprintf(ret, SCRIPT_NAME_MAX, "%s", source + 1);
		return;
	}
	shown = strcspn(source, "\n");
	if (shown == length && length < CODE_SHOWN)
		snprintf(ret, SCRIPT_NAME_MAX, "[string \"%s\"]", source);
	else
		snprintf(ret, SCRIPT_NAME_MAX, "[string \"%.*s...\"]",
			 (int)(shown < CODE_SHOWN ? shown : CODE_SHOWN), source);
}

/* Functions have no names: a variable that holds one has. */
static void make_name(struct script_code *code)
{
	const char *base = strrchr(code->file, '/');

	if (code->first_line)
		snprintf(code->function, sizeof(code->function), "function <%.*s:%u>",
			 (int)sizeof(code->function) - 32, base ? base + 1 : code->file,
			 code->first_line);
	else
		snprintf(code->function, sizeof(code->function), "main chunk");
}

bool lua_read_code(uint64_t version, const struct fpl_script_code *record, struct script_code *ret)
{
	size_t nr =
		record->nr_lines < sizeof(record->lines) ? record->nr_lines : sizeof(record->lines);
	uint32_t nr_marks, nr_lines;

	*ret = (struct script_code){ .version = version };
	if (!lua_is_known(version) || record->size[0] < LUA_FUNCTION_BYTES ||
	    record->size[1] > FPL_SCRIPT_TEXT_BYTES || record->size[2] > FPL_SCRIPT_TEXT_BYTES ||
	    record->size[2] <= LUA_STRING_BYTES_OFF)
		return false;
	ret->first_line = bytes_half(record->object, LUA_FIRST_LINE_OFF);
	if (ret->first_line > INT32_MAX)
		return false;
	read_source(record->text[1], record->size[2], ret->file);
	make_name(ret);
	ret->last_line = bytes_half(record->object, LUA_LAST_LINE_OFF);
	ret->first_step = bytes_word(record->object, LUA_STEPS_OFF);
	nr_lines = bytes_half(record->object, LUA_NR_LINES_OFF);
	ret->is_cut = nr_lines > nr;
	ret->lines = record->lines;
	ret->nr_lines = ret->is_cut ? (uint32_t)nr : nr_lines;
	nr_marks = bytes_half(record->object, LUA_NR_MARKS_OFF);
	ret->marks = record->text[0];
	ret->nr_marks = record->size[1] / MARK_BYTES;
	if (nr_marks < ret->nr_marks)
		ret->nr_marks = nr_marks;
	return true;
}

uint32_t lua_line(const struct script_code *code, uint32_t place)
{
	uint32_t step = (place - (uint32_t)code->first_step) / LUA_INSTRUCTION_BYTES;
	int64_t line = code->first_line;
	uint32_t at = 0;

	/* the place is behind the instruction; before the first one it is where it begins */
	step -= step != 0;
	if (step >= code->nr_lines)
		return 0;
	for (uint32_t i = 0; i < code->nr_marks; i++) {
		uint32_t marked = bytes_half(code->marks, (size_t)i * MARK_BYTES);

		if (marked > step || marked < at)
			break;
		at = marked + 1;
		line = bytes_half(code->marks, (size_t)i * MARK_BYTES + 4);
	}
	for (; at <= step; at++) {
		int8_t delta = (int8_t)code->lines[at];

		if (delta == LINE_IN_MARK)
			return 0;
		line += delta;
	}
	/* a table that belongs to other code by now */
	if (code->last_line && (line < code->first_line || line > code->last_line))
		return 0;
	return line <= 0 || line > INT32_MAX ? 0 : (uint32_t)line;
}
