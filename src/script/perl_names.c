// SPDX-License-Identifier: Apache-2.0
#include "script/perl.h"

#include <string.h>

#include "script/bytes.h"

/* Code that was read from a text is in the file "(eval 17)", whose number tells how many there were
 * before. */
#define EVAL_FILE "(eval "

/* Text @i of @record, [FPL_SCRIPT_TEXT_BYTES]. */
static const uint8_t *text_at(const struct fpl_script_code *record, uint32_t i)
{
	return i < FPL_SCRIPT_TEXTS
		       ? record->text[i]
		       : record->lines + (size_t)(i - FPL_SCRIPT_TEXTS) * FPL_SCRIPT_TEXT_BYTES;
}

/* A package with several names has a list of them in place of its name: that is no name. */
static bool is_name(const uint8_t *name)
{
	uint32_t length = bytes_half(name, PERL_LENGTH_OFF);

	return length && length < FPL_SCRIPT_TEXT_BYTES - PERL_KEY_OFF &&
	       !name[PERL_KEY_OFF + length] && !memchr(name + PERL_KEY_OFF, 0, length);
}

static bool read_name(const struct fpl_script_code *record, struct script_code *ret)
{
	uint32_t flags = bytes_half(record->object, PERL_FLAGS_OFF);
	const uint8_t *name, *package;

	name = text_at(record, flags & PERL_IS_NAMED ? PERL_NAME : PERL_GLOB_NAME);
	package = text_at(record, flags & PERL_IS_NAMED ? PERL_PACKAGE : PERL_GLOB_PACKAGE);
	if (!is_name(name))
		return false;
	if (flags & PERL_IS_LEXICAL || !is_name(package))
		snprintf(ret->function, sizeof(ret->function), "%s",
			 (const char *)name + PERL_KEY_OFF);
	else
		snprintf(ret->function, sizeof(ret->function), "%s::%s",
			 (const char *)package + PERL_KEY_OFF, (const char *)name + PERL_KEY_OFF);
	return true;
}

/* The file that @text names, to which it is cut where its end was not read. */
static bool read_file(const uint8_t *text, struct script_code *ret)
{
	snprintf(ret->file, sizeof(ret->file), "%.*s", (int)FPL_SCRIPT_TEXT_BYTES,
		 (const char *)text);
	if (!strncmp(ret->file, EVAL_FILE, strlen(EVAL_FILE)) &&
	    strspn(ret->file + strlen(EVAL_FILE), "0123456789") + strlen(EVAL_FILE) + 1 ==
		    strlen(ret->file))
		snprintf(ret->file, sizeof(ret->file), "(eval)");
	return ret->file[0] != '\0';
}

bool perl_read_code(uint64_t version, const struct fpl_script_code *record, struct script_code *ret)
{
	bool is_statement = record->code & FPL_SCRIPT_IS_PLACE;

	*ret = (struct script_code){ .version = version };
	if (!perl_is_known(version) || record->nr_lines < FPL_SCRIPT_MORE_BYTES ||
	    record->size[0] < (is_statement ? PERL_STATEMENT_BYTES : PERL_SUB_BYTES))
		return false;
	if (!is_statement) {
		(void)read_file(text_at(record, PERL_FILE), ret);
		return read_name(record, ret);
	}
	if (!read_file(text_at(record, PERL_STATEMENT_FILE), ret))
		return false;
	snprintf(ret->function, sizeof(ret->function), "%s",
		 record->code & FPL_SCRIPT_IS_LAST ? "(main)"
		 : !strcmp(ret->file, "(eval)")	   ? "(eval)"
						   : "(require)");
	return true;
}

uint32_t perl_line(const struct script_code *code, uint32_t place)
{
	(void)code;
	return place > INT32_MAX ? 0 : place;
}
