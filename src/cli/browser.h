/* SPDX-License-Identifier: Apache-2.0 */
/* The browser of the user behind a run: the one who typed sudo. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct browser {
	uid_t uid;    /* whose */
	bool is_ours; /* this process is that user's, and may start one */
	bool started;
	pid_t pid;
	int end_fd; /* owned: readable when what was started has ended; -1: none */
};

/*
 * Become the user behind sudo, for good; of root without sudo no browser is started. For a process
 * of one thread that does nothing else.
 */
void browser_init(struct browser *browser);

/* Have xdg-open show @address, where there is one and a display. Sets started. */
void browser_start(struct browser *browser, const char *address);

/* xdg-open has ended: without success? Closes end_fd. */
bool browser_has_failed(struct browser *browser);
