/* SPDX-License-Identifier: Apache-2.0 */
#include "source/event_format.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define COMMON_BYTES 8u /* of a record: the kernel has its own data there while a program runs */

/* Sizes of C types whose arguments stand in 8 bytes of a system call's record; others have 8. */
static const struct {
	const char *type;
	uint16_t size;
	uint8_t kind;
} argument_types[] = {
	{ "int", 4, FPL_FIELD_SIGNED },		 { "pid_t", 4, FPL_FIELD_SIGNED },
	{ "clockid_t", 4, FPL_FIELD_SIGNED },	 { "timer_t", 4, FPL_FIELD_SIGNED },
	{ "key_serial_t", 4, FPL_FIELD_SIGNED }, { "mqd_t", 4, FPL_FIELD_SIGNED },
	{ "long", 8, FPL_FIELD_SIGNED },	 { "off_t", 8, FPL_FIELD_SIGNED },
	{ "loff_t", 8, FPL_FIELD_SIGNED },	 { "ssize_t", 8, FPL_FIELD_SIGNED },
	{ "unsigned", 4, FPL_FIELD_UNSIGNED },	 { "unsigned int", 4, FPL_FIELD_UNSIGNED },
	{ "uint32_t", 4, FPL_FIELD_UNSIGNED },	 { "u32", 4, FPL_FIELD_UNSIGNED },
	{ "__u32", 4, FPL_FIELD_UNSIGNED },	 { "uid_t", 4, FPL_FIELD_UNSIGNED },
	{ "gid_t", 4, FPL_FIELD_UNSIGNED },	 { "qid_t", 4, FPL_FIELD_UNSIGNED },
	{ "umode_t", 2, FPL_FIELD_UNSIGNED },
};

/* The value behind @key in @line, which ends with a semicolon; -1: it has no such key. */
static long value_of(const char *line, const char *key)
{
	const char *at = strstr(line, key);
	char *end;
	long value;

	if (!at || !isdigit((unsigned char)at[strlen(key)]))
		return -1;
	value = strtol(at + strlen(key), &end, 10);
	return *end == ';' && value <= UINT16_MAX ? value : -1;
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Split "TYPE NAME" or "TYPE NAME[N]" in place. Returns whether it is an array; *@name NULL: it is
 * no declaration. */
static bool split(char *declaration, char **name)
{
	size_t len = strlen(declaration);
	bool is_array = len && declaration[len - 1] == ']' && strchr(declaration, '[');
	char *end = is_array ? strrchr(declaration, '[') : declaration + len;
	char *start = end;

	while (start > declaration && is_word(start[-1]))
		start--;
	*name = start == end || start == declaration || start[-1] != ' ' ? NULL : start;
	if (*name) {
		*end = '\0';
		start[-1] = '\0';
	}
	return is_array;
}

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* Does the type say "char", and nothing that makes it another one? */
static bool is_char(const char *type)
{
	const char *at = strstr(type, "char");

	return at && (at == type || !is_word(at[-1])) && !is_word(at[4]) &&
	       !strstr(type, "unsigned");
}

static uint8_t kind_of(const char *type, bool is_array, uint16_t size, bool is_signed,
		       bool is_argument)
{
	if (begins(type, "__data_loc "))
		return is_char(type) && size == 4 ? FPL_FIELD_TEXT_LOC : FPL_FIELD_NONE;
	if (begins(type, "__rel_loc "))
		return is_char(type) && size == 4 ? FPL_FIELD_TEXT_REL : FPL_FIELD_NONE;
	if (is_array)
		return is_char(type) ? FPL_FIELD_TEXT : FPL_FIELD_NONE;
	if (strchr(type, '*') && strchr(type, '*') == strrchr(type, '*') && is_char(type) &&
	    size == 8)
		return is_argument || strstr(type, "__user") ? FPL_FIELD_TEXT_USER
							     : FPL_FIELD_TEXT_KERNEL;
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return FPL_FIELD_NONE;
	return is_signed ? FPL_FIELD_SIGNED : FPL_FIELD_UNSIGNED;
}

/* Give an argument of a system call the size of its C type. */
static void narrow(struct event_field *field)
{
	for (size_t i = 0; i < ARRAY_SIZE(argument_types); i++) {
		if (strcmp(field->type, argument_types[i].type) || field->field.size != 8)
			continue;
		field->field.size = argument_types[i].size;
		field->field.kind = argument_types[i].kind;
	}
}

/* Parse what is behind "field:" in @line, in place. */
static int parse_field(char *line, const char *category, struct event_format *format,
		       struct fpl_err *err)
{
	long off = value_of(line, "offset:"), size = value_of(line, "size:"),
	     is_signed = value_of(line, "signed:");
	bool is_argument = !strcmp(category, "syscalls");
	char *end = strchr(line, ';'), *name;
	struct event_field field;

	if (end)
		*end = '\0';

	bool is_array = split(line, &name);

	if (!end || !name || off < 0 || size < 0 || is_signed < 0)
		return fpl_fail(err, -EINVAL, "\"%.60s\": no field", line);
	if (off < (long)COMMON_BYTES)
		return 0;
	if (format->nr == EVENT_FIELDS_MAX)
		return fpl_fail(err, -EINVAL, "more than %u fields", EVENT_FIELDS_MAX);
	field = (struct event_field){ .type = line, .name = name };
	field.field.off = (uint16_t)off;
	field.field.size = (uint16_t)size;
	field.field.kind = kind_of(line, is_array, field.field.size, is_signed == 1, is_argument);
	if (is_argument)
		narrow(&field);
	format->fields[format->nr++] = field;
	return 0;
}

int event_format_parse(const char *text, const char *category, struct event_format *ret,
		       struct fpl_err *err)
{
	struct event_format format = { .text = strdup(text) };
	char *rest = format.text, *line;
	int code = 0;

	if (!format.text)
		return -ENOMEM;
	while (!code && (line = strsep(&rest, "\n"))) {
		line += strspn(line, " \t");
		if (begins(line, "print fmt:"))
			break;
		if (begins(line, "field:"))
			code = parse_field(line + strlen("field:"), category, &format, err);
	}
	if (code) {
		event_format_fini(&format);
		return code;
	}
	*ret = format;
	return 0;
}

void event_format_fini(struct event_format *format)
{
	free(format->text);
	*format = (struct event_format){ 0 };
}

static const struct event_field *find_named(const struct event_format *format, const char *name,
					    size_t len)
{
	for (size_t i = 0; i < format->nr; i++)
		if (strlen(format->fields[i].name) == len &&
		    !memcmp(format->fields[i].name, name, len))
			return &format->fields[i];
	return NULL;
}

const struct event_field *event_format_find(const struct event_format *format, const char *name,
					    size_t len)
{
	const struct event_field *field = find_named(format, name, len);
	size_t around = strlen("str()");

	if (field || len <= around || !begins(name, "str(") || name[len - 1] != ')')
		return field;
	field = find_named(format, name + strlen("str("), len - around);
	return field && field->field.kind >= FPL_FIELD_TEXT ? field : NULL;
}
