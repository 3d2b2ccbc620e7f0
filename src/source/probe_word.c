/* SPDX-License-Identifier: Apache-2.0 */
#include "source/probe_word.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const struct {
	const char *prefix, *form;
} kinds[] = {
	[PROBE_UPROBE] = { "uprobe", "uprobe:FILE:FUNC[+OFF]" },
	[PROBE_URETPROBE] = { "uretprobe", "uretprobe:FILE:FUNC" },
	[PROBE_USDT] = { "usdt", "usdt:FILE:PROVIDER:NAME" },
	[PROBE_KPROBE] = { "kprobe", "kprobe:FUNC[+OFF]" },
	[PROBE_KRETPROBE] = { "kretprobe", "kretprobe:FUNC" },
};

/* Returns ARRAY_SIZE(kinds) where it is no probe. */
static size_t kind_of(const char *word)
{
	size_t len = strcspn(word, ":"), i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (word[len] && strlen(kinds[i].prefix) == len &&
		    !strncmp(kinds[i].prefix, word, len))
			break;
	return i;
}

bool probe_word_is(const char *word)
{
	return kind_of(word) < ARRAY_SIZE(kinds);
}

const char *probe_kind_text(enum probe_kind kind)
{
	return kinds[kind].prefix;
}

/* Copy @len bytes at @from, which may be no name: it is empty, has a control character or is too
 * long. */
static bool copy_name(const char *from, size_t len, char *to, size_t size)
{
	if (!len || len >= size)
		return false;
	for (size_t i = 0; i < len; i++)
		if (iscntrl((unsigned char)from[i]) || from[i] == ',')
			return false;
	memcpy(to, from, len);
	to[len] = '\0';
	return true;
}

/* Take a number behind the last + off the name. False: it is too large. */
static bool take_off(char *name, uint64_t *off)
{
	char *plus = strrchr(name, '+'), *end;
	unsigned long long value;

	if (!plus || plus == name || !isdigit((unsigned char)plus[1]))
		return true;
	errno = 0;
	value = strtoull(plus + 1, &end, 0);
	if (*end)
		return true; /* a name with a + */
	*plus = '\0';
	*off = value;
	return !errno && value <= INT64_MAX;
}

/* Take the part of the word up to the next colon. */
static bool take_part(const char **word, char *to, size_t size)
{
	size_t len = strcspn(*word, ":");

	if (!(*word)[len] || !copy_name(*word, len, to, size))
		return false;
	*word += len + 1;
	return true;
}

static bool take_parts(const char *rest, struct probe_word *ret)
{
	if (!probe_is_of_kernel(ret->kind) && !take_part(&rest, ret->file, sizeof(ret->file)))
		return false;
	if (ret->kind == PROBE_USDT && !take_part(&rest, ret->provider, sizeof(ret->provider)))
		return false;
	return copy_name(rest, strlen(rest), ret->name, sizeof(ret->name));
}

int probe_word_parse(const char *word, struct probe_word *ret, struct fpl_err *err)
{
	size_t kind = kind_of(word);
	struct probe_word probe = { 0 };

	if (kind == ARRAY_SIZE(kinds))
		return fpl_fail(err, -EINVAL, "%s: no probe", word);
	probe.kind = (enum probe_kind)kind;
	if (!take_parts(strchr(word, ':') + 1, &probe))
		return fpl_fail(err, -EINVAL, "%s: expected %s", word, kinds[kind].form);
	if (probe.kind != PROBE_USDT && !take_off(probe.name, &probe.off))
		return fpl_fail(err, -EINVAL, "%s: its offset is no number of 63 bits", word);
	if (probe.off && probe_is_return(probe.kind))
		return fpl_fail(
			err, -EINVAL,
			"%s: an offset: a return probe is one of the whole function: expected %s",
			word, kinds[kind].form);
	*ret = probe;
	return 0;
}

void probe_word_name(const char *word, char *name, size_t size)
{
	size_t prefix = strcspn(word, ":");
	const char *rest = word + prefix, *folder = NULL;

	if (strlen(word) >= size && *rest) {
		size_t len = strcspn(++rest, ":");

		/* the last slash of FILE */
		folder = rest[len] ? memrchr(rest, '/', len) : NULL;
		rest = folder ? folder + 1 : rest;
		prefix++;
	}
	if ((size_t)snprintf(name, size, "%.*s%s", (int)prefix, word, rest) >= size)
		memcpy(name + size - sizeof("..."), "...", sizeof("..."));
}
