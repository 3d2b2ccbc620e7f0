/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal of stdin and stdout as a screen: by ncurses, which no other file uses. One at a
 * time, used by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "top/page.h"

struct screen;

/* Are stdin and stdout a terminal, of a kind ($TERM) that can be drawn on? */
bool screen_is_possible(void);

/*
 * Take the terminal over. @colour: use colours where it has any. What is logged from here on is
 * kept until screen_close. Errors: -ENOTTY, -ENOMEM; eventfd(2).
 */
FPL_MUST_CHECK int screen_open(bool colour, struct screen **ret, struct fpl_err *err);

/* Give it back as it was, and print what was logged. NULL is allowed. */
void screen_close(struct screen *screen);

/* The room that the next page has. */
void screen_size(const struct screen *screen, size_t *ret_columns, size_t *ret_lines);

void screen_draw(struct screen *screen, const struct page *page);

enum screen_event {
	SCREEN_NOTHING,
	SCREEN_KEY,
	SCREEN_RESIZED,
	SCREEN_SUSPEND, /* a signal asks the program to stop for a while */
	SCREEN_GONE,	/* the terminal was hung up */
};

/* Wait for a key, a change of the terminal, or until @fd is readable. */
void screen_wait(struct screen *screen, int fd);

/* The next event that has come; *ret_key as of top/control.h. Call until SCREEN_NOTHING. */
enum screen_event screen_next(struct screen *screen, int *ret_key);

/* Stop the program as the shell's Ctrl-Z would, all of its group where @group, and take the
 * terminal over again when it goes on. */
void screen_suspend(struct screen *screen, bool group);

/* The last line that was logged, without its end: "" where there was none. To @buf [@size]. */
void screen_last_log(struct screen *screen, char *buf, size_t size);
