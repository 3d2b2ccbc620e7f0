/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Members of the data of a page, in whatever page: functions, trees, names, what numbers mean.
 * Names are numbered as they are met, and written last.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "picture/call_tree.h"
#include "picture/flame_paths.h"
#include "view/json.h"

/* Frames of one tree that a page has at most. A node takes about 40 bytes of the browser's heap, 10
 * of the file. */
#define HTML_NODES_MAX 1000000u

struct html_parts {
	struct json json;
	const struct flame_paths *paths;	/* borrowed */
	const struct call_functions *functions; /* borrowed */

	/* private */
	uint32_t
		*names; /* owned: of texts of the paths, where in names they are, + 1; 0: not yet */
	uint32_t *written; /* owned [nr_names]: texts */
	size_t nr_names;
};

/* All texts are in @paths by now. */
void html_parts_init(FILE *to, const struct flame_paths *paths,
		     const struct call_functions *functions, struct html_parts *ret);
void html_parts_fini(struct html_parts *parts);

/* Nodes of fewer samples than this are left out: @percent of all. */
uint64_t html_min_total(uint64_t samples, double percent);

/* The number that @text, of the paths, has as a name of the page. */
size_t html_parts_name(struct html_parts *parts, uint32_t text);

void html_parts_write_functions(struct html_parts *parts); /* "functions" */
void html_parts_write_keys(struct html_parts *parts);	   /* "keys": stops, origins, classes */

/* An element of "trees". */
void html_parts_write_tree(struct html_parts *parts, const struct call_tree *tree, const char *walk,
			   bool marks);

void html_parts_write_names(struct html_parts *parts); /* "names" */
