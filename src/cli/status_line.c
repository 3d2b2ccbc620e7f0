/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status_line.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "base/log.h"
#include "base/width.h"

#define CLEAR_LINE  "\r\033[K" /* ECMA-48, EL */
#define COLUMNS_MAX 200u
#define ROWS_MIN    4u

bool status_line_is_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
}

static void put(const char *bytes)
{
	(void)!write(STDERR_FILENO, bytes, strlen(bytes));
}

/* The rows of the terminal; 0: not known. */
static unsigned rows_of_terminal(void)
{
	struct winsize size;

	return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) ? 0 : size.ws_row;
}

/*
 * Keep the last of @rows rows out of the scrolling. Setting margins moves the cursor (DECSTBM), so
 * it is saved and restored; if it is in the last row, it goes up first (IND, CUU).
 */
static void take_last_row(struct status_line *line, unsigned rows)
{
	char bytes[64];

	snprintf(bytes, sizeof(bytes), "%s\0337\033[1;%ur\0338",
		 line->last_row ? "" : "\033D\033[A", rows - 1);
	put(bytes);
	line->last_row = rows;
}

static void give_last_row_back(struct status_line *line)
{
	char bytes[64];

	if (!line->last_row)
		return;
	snprintf(bytes, sizeof(bytes), "\0337\033[r\033[%u;1H\033[2K\0338", line->last_row);
	put(bytes);
	line->last_row = 0;
}

/* Does the terminal work by lines, and is this process in its foreground? */
static bool may_draw_beside(struct status_line *line)
{
	struct termios mode;

	if (line->is_given_up || tcgetattr(STDERR_FILENO, &mode))
		return false;
	if (!(mode.c_lflag & ICANON)) {
		line->is_given_up = true;
		give_last_row_back(line);
		return false;
	}
	return tcgetpgrp(STDERR_FILENO) == line->group;
}

static void draw_beside(struct status_line *line, const char *text)
{
	unsigned rows = rows_of_terminal();
	char bytes[4 * COLUMNS_MAX + 64];

	if (rows < ROWS_MIN || !may_draw_beside(line))
		return;
	if (rows != line->last_row)
		take_last_row(line, rows);
	snprintf(bytes, sizeof(bytes), "\0337\033[%u;1H\033[2K%s\0338", rows, text);
	put(bytes);
}

static void clear(struct status_line *line)
{
	if (line->is_drawn)
		(void)!write(STDERR_FILENO, CLEAR_LINE, strlen(CLEAR_LINE));
	line->is_drawn = false;
}

/* The writer of the log. */
static void write_log(void *ctx, const char *text, size_t size)
{
	struct status_line *line = ctx;

	pthread_mutex_lock(&line->lock);
	clear(line);
	(void)!fwrite(text, 1, size, stderr);
	pthread_mutex_unlock(&line->lock);
}

void status_line_init(struct status_line *line, bool is_beside)
{
	*line = (struct status_line){ .columns = width_of_terminal(STDERR_FILENO),
				      .is_beside = is_beside,
				      .group = getpgrp() };
	pthread_mutex_init(&line->lock, NULL);
	fpl_log_set_writer(write_log, line);
}

void status_line_fini(struct status_line *line)
{
	fpl_log_set_writer(NULL, NULL);
	clear(line);
	give_last_row_back(line);
	pthread_mutex_destroy(&line->lock);
}

void status_line_draw(struct status_line *line, const char *text)
{
	struct pollfd poll_fd = { .fd = STDERR_FILENO, .events = POLLOUT };
	char fitted[4 * COLUMNS_MAX], bytes[sizeof(fitted) + sizeof(CLEAR_LINE)];
	size_t columns = width_of_terminal(STDERR_FILENO);

	if (columns)
		line->columns = columns; /* unchanged if the width can no longer be read */
	columns = line->columns < COLUMNS_MAX ? line->columns : COLUMNS_MAX;
	/* the last column stays free: some terminals go on to the next line there */
	width_fit(fitted, sizeof(fitted), text, columns ? columns - 1 : 0);
	int size = snprintf(bytes, sizeof(bytes), "%s%s", CLEAR_LINE, fitted);

	pthread_mutex_lock(&line->lock);
	if (poll(&poll_fd, 1, 0) <= 0 || poll_fd.revents != POLLOUT)
		; /* the next time */
	else if (line->is_beside)
		draw_beside(line, fitted);
	else
		line->is_drawn = write(STDERR_FILENO, bytes, (size_t)size) > 0;
	pthread_mutex_unlock(&line->lock);
}
