/* SPDX-License-Identifier: Apache-2.0 */
#include "manual/option_list.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/cleanup.h"

/* Options that argp adds to every table; the heading is for lists that have others. */
static const struct argp_option usual[] = {
	{ .doc = "Help:", .group = -1 },
	{ "help", '?', NULL, 0, "Print the options", -1 },
	{ "usage", 0x10000, NULL, 0, "Print a short list of the options", -1 },
	{ "version", 'V', NULL, 0, "Print the version", -1 },
	{ 0 },
};

static bool is_end(const struct argp_option *option)
{
	return !option->name && !option->key && !option->doc && !option->group;
}

bool option_is_heading(const struct argp_option *option)
{
	return !option->name && !option->key;
}

char option_letter(const struct argp_option *option)
{
	return option->key > 0 && option->key <= CHAR_MAX && isprint(option->key)
		       ? (char)option->key
		       : '\0';
}

bool option_takes_value(const struct argp_option *option)
{
	return option->arg;
}

bool option_needs_value(const struct argp_option *option)
{
	return option->arg && !(option->flags & OPTION_ARG_OPTIONAL);
}

const char *option_call(const struct argp_option *option, char *buf, size_t size)
{
	if (option->name)
		snprintf(buf, size, "--%s", option->name);
	else
		snprintf(buf, size, "-%c", option_letter(option));
	return buf;
}

/* Without a group an option is in that of the one before it, and a heading begins a new one. */
static int group_of(const struct argp_option *option, int before)
{
	if (option->group || !before)
		return option->group;
	return before + (option_is_heading(option) ? 1 : 0);
}

static int add_table(struct option_list *list, const struct argp_option *table)
{
	int group = 0;

	for (; table && !is_end(table); table++) {
		group = group_of(table, group);
		if (table->flags & OPTION_HIDDEN)
			continue;

		if (vector_push(list, (struct option_item){ table, group, list->nr }))
			return -ENOMEM;
	}
	return 0;
}

static int add_argp(struct option_list *list, const struct argp *argp)
{
	int error = add_table(list, argp->options);

	for (const struct argp_child *child = argp->children; !error && child && child->argp;
	     child++)
		error = add_argp(list, child->argp);
	return error;
}

/* As argp orders groups: from 0 up, then the negative ones. */
static int compare_items(const void *left, const void *right)
{
	const struct option_item *a = left, *b = right;
	bool a_late = a->group < 0, b_late = b->group < 0;

	if (a_late != b_late)
		return a_late ? 1 : -1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;

	bool a_head = option_is_heading(a->option), b_head = option_is_heading(b->option);
	if (a_head != b_head)
		return a_head ? -1 : 1;
	return a->place < b->place ? -1 : 1;
}

int option_list_make(const struct argp *argp, struct option_list *ret)
{
	*ret = (struct option_list){ 0 };

	int error = add_argp(ret, argp);
	bool headings = false;

	for (size_t i = 0; !error && i < ret->nr; i++)
		headings |= option_is_heading(ret->list[i].option);
	if (!error)
		error = add_table(ret, headings ? usual : usual + 1);
	if (error)
		option_list_fini(ret);
	else
		qsort(ret->list, ret->nr, sizeof(*ret->list), compare_items);
	return error;
}

void option_list_fini(struct option_list *list)
{
	vector_fini(list);
}
