/* SPDX-License-Identifier: Apache-2.0 */
/* The options of a verb as one list, out of its argp and the children of that. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/vector.h"

struct option_item {
	const struct argp_option *option; /* borrowed */
	int group;
	size_t place; /* in the tables, where groups are equal */
};

struct option_list {
	VECTOR(struct option_item); /* those of --help in their groups, without hidden ones */
};

FPL_MUST_CHECK int option_list_make(const struct argp *argp, struct option_list *ret);
void option_list_fini(struct option_list *list);

/* A heading of the options behind it, not an option. */
bool option_is_heading(const struct argp_option *option);

/* Its letter, or '\0'. */
char option_letter(const struct argp_option *option);

bool option_needs_value(const struct argp_option *option);
bool option_takes_value(const struct argp_option *option);

/* How an option is called in text: "--name", or "-x". @buf is 64 bytes. */
const char *option_call(const struct argp_option *option, char *buf, size_t size);
