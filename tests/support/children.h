/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that a test has begun, by way of others. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static inline int is_zombie(pid_t pid)
{
	char path[64], text[256] = "";
	const char *behind_name;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return 1; /* it was there, and has gone */
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	behind_name = strrchr(text, ')');
	return !behind_name || behind_name[2] == 'Z';
}

/* How many children of the one thread of @parent have not ended. *ret_first: one of them; 0: none.
 */
static inline size_t children_of(pid_t parent, pid_t *ret_first)
{
	char path[64], text[4096] = "";
	char *word, *rest = NULL;
	size_t nr = 0;
	FILE *file;

	*ret_first = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)parent, (int)parent);
	file = fopen(path, "re");
	if (!file)
		return 0;
	if (!fgets(text, sizeof(text), file))
		text[0] = '\0';
	fclose(file);
	for (word = strtok_r(text, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest)) {
		pid_t pid = (pid_t)strtol(word, NULL, 10);

		if (is_zombie(pid))
			continue;
		if (!nr++)
			*ret_first = pid;
	}
	return nr;
}
