/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a page in the browser: --open. A process of its own, with no rights but those of the user
 * behind sudo, waits for the page, serves it on 127.0.0.1 once, and ends: when it was fetched, or
 * after PAGE_SERVER_S. The address has a random token, without which it answers nothing. While a
 * browser gets the address as an argument, which others can read in /proc, only connections of its
 * user and of root are answered.
 */
#pragma once

#include "base/err.h"

#define PAGE_SERVER_S 60u

struct page_server {
	int page_fd; /* owned: a file of memory, to be written; -1: none */
	int go_fd;   /* owned: a byte says that the page is whole, its end that no page comes */
	int done_fd; /* owned: at its end when the server has ended */
};

#define PAGE_SERVER_NONE ((struct page_server){ -1, -1, -1 })

/*
 * Start it, while the process has one thread and its rights as given. Errors: -EMFILE, -EAGAIN,
 * -ENOMEM and others of memfd_create(2), pipe(2) and fork(2).
 */
FPL_MUST_CHECK int page_server_start(struct page_server *ret, struct fpl_err *err);

/* The page is written: have it served, and wait for that. What goes wrong is said by the server. */
void page_server_show(struct page_server *server);

/* Without show nothing is served. Safe after show, and for PAGE_SERVER_NONE. */
void page_server_stop(struct page_server *server);
