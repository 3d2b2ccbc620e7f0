/* SPDX-License-Identifier: Apache-2.0 */
#include "push/labels.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"

static bool has(const struct labels *labels, const char *name)
{
	for (size_t i = 0; i < labels->nr; i++)
		if (!strcmp(labels->list[i].name, name))
			return true;
	return false;
}

/* The first of a name counts. */
static void add(struct labels *labels, const char *name, const char *value)
{
	if (labels->nr < LABELS_MAX && !has(labels, name))
		labels->list[labels->nr++] = (struct label){ name, value };
}

void labels_given_init(const char *text, struct labels_given *ret)
{
	char *rest, *line;

	*ret = (struct labels_given){ .text = must_strdup(text) };
	rest = ret->text;
	while ((line = strsep(&rest, "\n"))) {
		char *value = strchr(line, '=');

		if (!value)
			continue;
		*value = '\0';
		add(&ret->labels, line, value + 1);
	}
	if (gethostname(ret->host, sizeof(ret->host) - 1))
		ret->host[0] = '\0';
	if (*ret->host)
		add(&ret->labels, "host", ret->host);
}

void labels_given_fini(struct labels_given *given)
{
	free(given->text);
}

void labels_of(const struct profile *profile, const struct labels_given *given, struct labels *ret)
{
	*ret = given->labels;
	add(ret, "service_name", profile->name);
	if (strcmp(profile->state, "-") != 0)
		add(ret, "state", profile->state);
}

void labels_make_name(const char *text, char *ret, size_t size)
{
	int length = snprintf(ret, size, "%s%s", isdigit((unsigned char)*text) ? "_" : "", text);

	for (char *at = ret; length > 0 && *at; at++)
		if (!isascii(*at) || !isalnum((unsigned char)*at))
			*at = '_';
}
