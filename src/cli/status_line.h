/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One line on the terminal of stderr, overwritten again and again and removed at the end. Lines
 * logged meanwhile appear above it. One at a time.
 *
 * Beside a program that writes to the same terminal, the line stands in the last row, which does
 * not scroll from the first drawing on. A program that reads keys one by one (an editor, a pager)
 * draws on the terminal as it likes: from then on there is no line. Nor is there one while another
 * process group has the terminal.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct status_line {
	pthread_mutex_t lock; /* for what is on the terminal */
	size_t columns;
	bool is_drawn;
	bool is_beside;	   /* another program writes there */
	unsigned last_row; /* that it stands in, from 1; 0: none does not scroll */
	bool is_given_up;
	pid_t group; /* the process group of this process */
};

/* Is stderr a terminal where a line can be written over? */
bool status_line_is_possible(void);

/* Lines of the log come above @line, which stays where it is, until status_line_fini(). @is_beside:
 * another program writes to the terminal meanwhile. */
void status_line_init(struct status_line *line, bool is_beside);
void status_line_fini(struct status_line *line); /* the line goes */

/* Replace the line by @text, which is escaped. A blocked terminal is not waited for. */
void status_line_draw(struct status_line *line, const char *text);
