// SPDX-License-Identifier: Apache-2.0
#include "script/v8.h"

#include <stdio.h>
#include <string.h>

#include "script/bytes.h"

#define MAP_OFF	     0 /* of each object */
#define FUNCTION_REG 5 /* rdi, by its DWARF number */

/* A function without a name, as DevTools has it. */
#define NO_NAME "(anonymous)"

/* A file that is a module is named by its address. */
#define FILE_SCHEME "file://"

/*
 * Each frame of JavaScript has its function below the frame pointer, and its context, a pointer,
 * between the two; frames of V8's own code have a small number there, whose lowest bit is 0.
 */
static bool v8_rule(const struct script_facts *facts, uint32_t object, struct fpl_script_rule *ret)
{
	const struct v8_facts *v8 = &facts->v8;

	if (!facts->version)
		return false;
	*ret = (struct fpl_script_rule){
		.check_vaddr = v8->first_function,
		.check_size = (uint64_t)v8->last_function - v8->first_function + 1,
		.check = { .off = { v8->function_off, MAP_OFF, (int16_t)v8->objects.type_off },
			   .nr = 3,
			   .bits = 16 },
		.code = load_behind(v8->function_off, (int16_t)v8->shared_off),
		.next = load_at(0),
		.stop = load_at(v8->context_off),
		.stop_mask = 1,
		.stop_value = 0,
		/* what holds the name, and the beginning of that: a name, or how many locals the
		 * function has, and which */
		.content = { .first = v8->objects.name_off, .text_off = 7, .nr = 1 },
		.is_native = 1,
		.check_is_value = 1,
		/* kJavaScriptCallTargetRegister is rdi */
		.leaf_reg = FUNCTION_REG,
		.leaf_check = { .off = { MAP_OFF, (int16_t)v8->objects.type_off },
				.nr = 2,
				.bits = 16 },
		.leaf = load_at((int16_t)v8->shared_off),
		.v8 = v8->objects,
	};
	rule_take_facts(ret, facts, object);
	return true;
}

/* Write character @code to @ret, of which @used of @room bytes are used. */
static size_t put_utf8(char *ret, size_t used, size_t room, uint32_t code)
{
	char bytes[4];
	size_t nr = 0;

	if (code < 0x80) {
		bytes[nr++] = (char)code;
	} else if (code < 0x800) {
		bytes[nr++] = (char)(0xc0 | code >> 6);
	} else if (code < 0x10000) {
		bytes[nr++] = (char)(0xe0 | code >> 12);
		bytes[nr++] = (char)(0x80 | (code >> 6 & 0x3f));
	} else {
		bytes[nr++] = (char)(0xf0 | code >> 18);
		bytes[nr++] = (char)(0x80 | (code >> 12 & 0x3f));
		bytes[nr++] = (char)(0x80 | (code >> 6 & 0x3f));
	}
	if (code >= 0x80)
		bytes[nr++] = (char)(0x80 | (code & 0x3f));
	if (used + nr >= room)
		return used;
	memcpy(ret + used, bytes, nr);
	return used + nr;
}

static uint32_t unit_at(const uint8_t *bytes, size_t at, bool is_wide)
{
	return is_wide ? bytes[at] | (uint32_t)bytes[at + 1] << 8 : bytes[at];
}

/* The text in @bytes [@size], Latin-1 or UTF-16, in @ret [SCRIPT_NAME_MAX] as UTF-8. A NUL ends it.
 */
static void read_text(const uint8_t *bytes, size_t size, bool is_wide, char *ret)
{
	size_t step = is_wide ? 2 : 1, used = 0;

	for (size_t at = 0; at + step <= size; at += step) {
		uint32_t code = unit_at(bytes, at, is_wide), low;

		if (!code)
			break;
		if (code >= 0xd800 && code < 0xe000) {
			low = at + 2 * step <= size ? unit_at(bytes, at + step, is_wide) : 0;
			if (code >= 0xdc00 || low < 0xdc00 || low >= 0xe000) {
				code = 0xfffd;
			} else {
				code = 0x10000 + ((code & 0x3ff) << 10 | (low & 0x3ff));
				at += step;
			}
		}
		used = put_utf8(ret, used, SCRIPT_NAME_MAX, code);
	}
	ret[used] = '\0';
}

static bool v8_read_code(uint64_t version, const struct fpl_script_code *record,
			 struct script_code *ret)
{
	size_t scheme = strlen(FILE_SCHEME);

	*ret = (struct script_code){ .version = version };
	if (!record->size[0] || record->size[1] > FPL_SCRIPT_TEXT_BYTES ||
	    record->size[2] > FPL_SCRIPT_TEXT_BYTES)
		return false;
	read_text(record->text[0], record->size[1], record->wide & 1, ret->function);
	read_text(record->text[1], record->size[2], record->wide & 2, ret->file);
	if (!strncmp(ret->file, FILE_SCHEME "/", scheme + 1))
		memmove(ret->file, ret->file + scheme, strlen(ret->file + scheme) + 1);
	if (!ret->function[0])
		snprintf(ret->function, sizeof(ret->function), NO_NAME);
	ret->first_line = record->line > INT32_MAX ? 0 : record->line;
	return true;
}

/* Places are not told apart: the line of a frame is where its function begins. */
static uint32_t v8_line(const struct script_code *code, uint32_t place)
{
	(void)place;
	return code->first_line;
}

static void v8_say_version(const struct script_facts *facts, char *ret)
{
	snprintf(ret, SCRIPT_VERSION_MAX, "V8%s",
		 facts->version ? ""
				: ", whose numbers for debuggers (v8dbg_*) are not all there,");
}

const struct script_language v8_language = {
	.name = "javascript",
	.rule = v8_rule,
	.read_code = v8_read_code,
	.line = v8_line,
	.say_version = v8_say_version,
};
