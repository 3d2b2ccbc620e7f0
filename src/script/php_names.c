// SPDX-License-Identifier: Apache-2.0
#include "script/php.h"

#include <stdio.h>
#include <string.h>

#include "script/bytes.h"

/* Offsets in a string. */
#define LENGTH_OFF 16u
#define TEXT_OFF   24u

/* A function begins with its type; it has no name, or no class, where the pointer is 0. */
#define USER_FUNCTION 2u
#define EVAL_CODE     4u
#define NAME_OFF      8u
#define SCOPE_OFF     16u

/* The string in @bytes [@size], or its beginning, in @ret [@room]. A NUL, as anonymous classes have
 * one in their names, ends it. */
static void read_string(const uint8_t *bytes, size_t size, char *ret, size_t room)
{
	uint64_t length = size > TEXT_OFF ? bytes_word(bytes, LENGTH_OFF) : 0;
	size_t most = size > TEXT_OFF ? size - TEXT_OFF : 0;

	if (length > most)
		length = most;
	if (length > room - 1)
		length = room - 1;
	memcpy(ret, bytes + TEXT_OFF, length);
	ret[length] = '\0';
}

bool php_read_code(uint64_t version, const struct fpl_script_code *record, struct script_code *ret)
{
	const struct php_layout *layout = php_layout(version);
	char class[FPL_SCRIPT_TEXT_BYTES], name[FPL_SCRIPT_TEXT_BYTES];
	size_t nr =
		record->nr_lines < sizeof(record->lines) ? record->nr_lines : sizeof(record->lines);
	uint8_t type = record->object[0];

	*ret = (struct script_code){ .version = version };
	if (!layout || record->size[0] < layout->line_start + sizeof(uint32_t) ||
	    record->size[1] > FPL_SCRIPT_TEXT_BYTES || record->size[2] > FPL_SCRIPT_TEXT_BYTES ||
	    (type != USER_FUNCTION && type != EVAL_CODE))
		return false;
	read_string(record->text[0], record->size[1], name, sizeof(name));
	read_string(record->text[1], record->size[2], ret->file, sizeof(ret->file));
	read_string(record->lines, nr, class, sizeof(class));
	if (!bytes_word(record->object, SCOPE_OFF))
		class[0] = '\0';
	/* the code of a file or of eval() is a function without a name, as debug_backtrace() has
	 * none for it */
	if (!bytes_word(record->object, NAME_OFF))
		snprintf(ret->function, sizeof(ret->function), "%s",
			 type == EVAL_CODE ? "{eval}" : "{main}");
	else if (name[0])
		snprintf(ret->function, sizeof(ret->function), "%s%s%s", class,
			 class[0] ? "::" : "", name);
	ret->first_line = bytes_half(record->object, layout->line_start);
	if (ret->first_line > INT32_MAX)
		ret->first_line = 0;
	return ret->function[0] != '\0';
}
