/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/status_line.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/width.h"

#define CLEAR_LINE  "\r\033[K" /* ECMA-48, EL */
#define COLUMNS_MAX 200u

bool status_line_is_possible(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term && *term && strcmp(term, "dumb") != 0;
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

void status_line_init(struct status_line *line)
{
	*line = (struct status_line){ .columns = width_of_terminal(STDERR_FILENO) };
	pthread_mutex_init(&line->lock, NULL);
	fpl_log_set_writer(write_log, line);
}

void status_line_fini(struct status_line *line)
{
	fpl_log_set_writer(NULL, NULL);
	clear(line);
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
	if (poll(&poll_fd, 1, 0) > 0 && poll_fd.revents == POLLOUT)
		line->is_drawn = write(STDERR_FILENO, bytes, (size_t)size) > 0;
	pthread_mutex_unlock(&line->lock);
}
