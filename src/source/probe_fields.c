/* SPDX-License-Identifier: Apache-2.0 */
#include "source/probe_fields.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Registers of 8, 4, 2 and 1 bytes, and the second byte; and where it is in struct pt_regs. */
static const struct register_names {
	const char *names[4], *high;
	uint16_t off;
} registers[] = {
	{ { "r15", "r15d", "r15w", "r15b" }, NULL, 0 },
	{ { "r14", "r14d", "r14w", "r14b" }, NULL, 8 },
	{ { "r13", "r13d", "r13w", "r13b" }, NULL, 16 },
	{ { "r12", "r12d", "r12w", "r12b" }, NULL, 24 },
	{ { "rbp", "ebp", "bp", "bpl" }, NULL, 32 },
	{ { "rbx", "ebx", "bx", "bl" }, "bh", 40 },
	{ { "r11", "r11d", "r11w", "r11b" }, NULL, 48 },
	{ { "r10", "r10d", "r10w", "r10b" }, NULL, 56 },
	{ { "r9", "r9d", "r9w", "r9b" }, NULL, 64 },
	{ { "r8", "r8d", "r8w", "r8b" }, NULL, 72 },
	{ { "rax", "eax", "ax", "al" }, "ah", 80 },
	{ { "rcx", "ecx", "cx", "cl" }, "ch", 88 },
	{ { "rdx", "edx", "dx", "dl" }, "dh", 96 },
	{ { "rsi", "esi", "si", "sil" }, NULL, 104 },
	{ { "rdi", "edi", "di", "dil" }, NULL, 112 },
	{ { "rsp", "esp", "sp", "spl" }, NULL, 152 },
};

/* Those of a function's arguments, in order, and of its result (x86-64 psABI 1.0, 3.2.3). */
static const struct function_register {
	const char *name;
	uint16_t off;
} arguments[] = { { "%rdi", 112 }, { "%rsi", 104 }, { "%rdx", 96 },
		  { "%rcx", 88 },  { "%r8", 72 },   { "%r9", 64 } },
  result = { "%rax", 80 };

/* Room for "str(arg15)". */
#define NAME_SIZE 12u

static bool is_word(const char *text, size_t len, const char *word)
{
	return word && strlen(word) == len && !strncmp(text, word, len);
}

/* The register %NAME at @text [@len]: where it is, and its bytes, in *ret. */
static bool find_register(const char *text, size_t len, struct fpl_field *ret)
{
	if (!len || *text != '%')
		return false;
	text++;
	len--;
	for (size_t i = 0; i < ARRAY_SIZE(registers); i++) {
		for (unsigned int k = 0; k < 4; k++) {
			if (!is_word(text, len, registers[i].names[k]))
				continue;
			ret->off = registers[i].off;
			ret->size = (uint16_t)(8 >> k);
			return true;
		}
		if (is_word(text, len, registers[i].high)) {
			ret->off = registers[i].off + 1;
			ret->size = 1;
			return true;
		}
	}
	return false;
}

/* A number of 32 bits at *@at; *@at: behind it. */
static bool take_disp(const char **at, int32_t *ret)
{
	char *end;
	long long value;

	if (!isdigit((unsigned char)(*at)[**at == '-']))
		return false;
	errno = 0;
	value = strtoll(*at, &end, 0);
	*at = end;
	*ret = (int32_t)value;
	return !errno && value == *ret;
}

/* Parse what is behind the @ of an argument, up to @end; its size is in @field. False: the kernel
 * side cannot read it. */
static bool parse_operand(const char *at, const char *end, struct fpl_field *field)
{
	struct fpl_field place = { 0 };
	int32_t disp = 0;

	if (*at == '$') {
		at++;
		field->place = FPL_PLACE_CONSTANT;
		return take_disp(&at, &field->disp) && at == end;
	}
	if (*at == '%') {
		/* %fs:16 is memory of the thread, and no register */
		if (!find_register(at, (size_t)(end - at), &place) || field->size > place.size)
			return false;
		field->off = place.off;
		return true;
	}
	if (*at != '(' && !take_disp(&at, &disp))
		return false;
	if (at >= end || *at != '(' || end[-1] != ')')
		return false;
	at++;
	if (!find_register(at, (size_t)(end - 1 - at), &place) || place.size != 8)
		return false;
	field->off = place.off;
	field->place = FPL_PLACE_MEMORY;
	field->disp = disp;
	return true;
}

/* Parse the argument at @word, up to @end. */
static struct fpl_field parse_argument(const char *word, const char *end)
{
	bool is_signed = *word == '-';
	const char *at = word + is_signed;
	struct fpl_field field = { .kind = is_signed ? FPL_FIELD_SIGNED : FPL_FIELD_UNSIGNED };

	field.size = *at && strchr("1248", *at) ? (uint16_t)(*at - '0') : 0;
	if (!field.size || at[1] != '@' || !parse_operand(at + 2, end, &field))
		return (struct fpl_field){ .kind = FPL_FIELD_NONE };
	return field;
}

/* The end of the word at @at; what stands in parentheses is a part of it. */
static const char *word_end(const char *at)
{
	for (bool is_inside = false; *at && (is_inside || *at != ' '); at++)
		is_inside = *at == '(' || (is_inside && *at != ')');
	return at;
}

/* Append a field, and of an address the text there. Names are written to *@to, which moves on. */
static void add_field(struct event_format *format, char **to, const char *type, const char *name,
		      const struct fpl_field *field, enum fpl_field_kind text)
{
	char *own = *to;

	*to += NAME_SIZE;
	snprintf(own, NAME_SIZE, "%s", name);
	format->fields[format->nr++] =
		(struct event_field){ .type = type, .name = own, .field = *field };
	if (field->kind == FPL_FIELD_NONE || field->size != 8)
		return;
	own = *to;
	*to += NAME_SIZE;
	snprintf(own, NAME_SIZE, "str(%s)", name);
	format->fields[format->nr] =
		(struct event_field){ .type = type, .name = own, .field = *field };
	format->fields[format->nr++].field.kind = (uint8_t)text;
}

int probe_fields_of_function(enum probe_kind kind, struct event_format *ret)
{
	enum fpl_field_kind text =
		probe_is_of_kernel(kind) ? FPL_FIELD_TEXT_KERNEL : FPL_FIELD_TEXT_USER;
	bool is_return = probe_is_return(kind);
	struct event_format format = { .text = malloc((size_t)2 * ARRAY_SIZE(arguments) *
						      NAME_SIZE) };
	char *to = format.text;

	if (!format.text)
		return -ENOMEM;
	for (unsigned int i = 0; i < (is_return ? 1 : ARRAY_SIZE(arguments)); i++) {
		const struct function_register *from = is_return ? &result : &arguments[i];
		const struct fpl_field field = { .off = from->off,
						 .size = 8,
						 .kind = FPL_FIELD_UNSIGNED };
		char name[NAME_SIZE] = "retval";

		if (!is_return)
			snprintf(name, sizeof(name), "arg%u", i);
		add_field(&format, &to, from->name, name, &field, text);
	}
	*ret = format;
	return 0;
}

int probe_fields_of_usdt(const char *args, struct event_format *ret, struct fpl_err *err)
{
	size_t size = strlen(args) + 1;
	struct event_format format = { .text = malloc(size +
						      (size_t)2 * PROBE_ARGS_MAX * NAME_SIZE) };
	char *at = format.text, *to;
	unsigned int nr = 0;

	if (!format.text)
		return -ENOMEM;
	memcpy(format.text, args, size);
	to = format.text + size;
	for (at += strspn(at, " "); *at; at += strspn(at, " "), nr++) {
		char *end = (char *)word_end(at), name[NAME_SIZE];

		if (nr == PROBE_ARGS_MAX) {
			event_format_fini(&format);
			return fpl_fail(err, -EINVAL, "more than %u arguments", PROBE_ARGS_MAX);
		}

		const struct fpl_field field = parse_argument(at, end);

		snprintf(name, sizeof(name), "arg%u", nr);
		add_field(&format, &to, at, name, &field, FPL_FIELD_TEXT_USER);
		at = end;
		if (*end) {
			*end = '\0';
			at++;
		}
	}
	*ret = format;
	return 0;
}
