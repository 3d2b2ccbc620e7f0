/* SPDX-License-Identifier: Apache-2.0 */
#include "source/breakpoint_word.h"

#include <ctype.h>
#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "mem:"

bool breakpoint_word_is(const char *word)
{
	return !strncmp(word, PREFIX, strlen(PREFIX));
}

/* A number that begins with a digit, and ends before @at moves on to; false: none, or too large. */
static bool parse_number(const char **at, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	errno = 0;
	*ret = strtoull(*at, &end, 0);
	*at = end;
	return !errno;
}

/* HW_BREAKPOINT_* of the letters at @at; 0: they are no access. */
static uint32_t access_of(const char *at, size_t len)
{
	static const struct {
		const char *letters;
		uint32_t type;
	} known[] = {
		{ "r", HW_BREAKPOINT_R },   { "w", HW_BREAKPOINT_W },	{ "x", HW_BREAKPOINT_X },
		{ "rw", HW_BREAKPOINT_RW }, { "wr", HW_BREAKPOINT_RW },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].letters) == len && !strncmp(at, known[i].letters, len))
			return known[i].type;
	return 0;
}

/* The letters behind the address, which may be missing: then u and k stand there. */
static int parse_access(const char *word, const char **at, uint32_t *ret, struct fpl_err *err)
{
	size_t len = **at ? strcspn(*at + 1, ":") : 0;

	if (**at && len && strspn(*at + 1, "uk") < len) {
		*ret = access_of(*at + 1, len);
		*at += 1 + len;
	}
	if (!*ret)
		return fpl_fail(err, -EINVAL, "%s: expected r, w, rw or x behind the address",
				word);
	return 0;
}

int breakpoint_word_parse(const char *word, struct breakpoint_word *ret, const char **ret_rest,
			  struct fpl_err *err)
{
	struct breakpoint_word place = { .access = HW_BREAKPOINT_RW };
	const char *at = word + strlen(PREFIX);
	int code;

	if (!parse_number(&at, &place.addr) ||
	    (*at == '/' && (at++, !parse_number(&at, &place.len))) || (*at && *at != ':'))
		return fpl_fail(err, -EINVAL, "%s: expected " PREFIX "ADDR[/LEN][:rw]", word);
	code = parse_access(word, &at, &place.access, err);
	if (code)
		return code;
	if (!place.len)
		place.len = place.access == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
	if (place.len > HW_BREAKPOINT_LEN_8 || (place.len & (place.len - 1)))
		return fpl_fail(err, -EINVAL, "%s: expected 1, 2, 4 or 8 bytes", word);
	if (place.access != HW_BREAKPOINT_X && place.addr % place.len)
		return fpl_fail(err, -EINVAL,
				"%s: the address is no multiple of %u: a shorter length is " PREFIX
				"ADDR/1",
				word, (unsigned int)place.len);
	*ret = place;
	*ret_rest = at;
	return 0;
}
