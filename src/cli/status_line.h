/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line on the terminal of stderr, overwritten again and again and removed at the end. Lines
 * logged meanwhile appear above it. One at a time.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

struct status_line {
	pthread_mutex_t lock; /* for what is on the terminal */
	size_t columns;
	bool is_drawn;
};

/* Is stderr a terminal where a line can be written over? */
bool status_line_is_possible(void);

/* Lines of the log come above @line, which stays where it is, until status_line_fini(). */
void status_line_init(struct status_line *line);
void status_line_fini(struct status_line *line); /* the line goes */

/* Replace the line by @text, which is escaped. A blocked terminal is not waited for. */
void status_line_draw(struct status_line *line, const char *text);
