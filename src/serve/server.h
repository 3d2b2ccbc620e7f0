/* SPDX-License-Identifier: Apache-2.0 */
/* The server: one thread, SERVER_VISITS connections at a time, one request on each. */
#pragma once

#include "base/err.h"
#include "serve/door.h"

#define SERVER_VISITS	     4u
#define SERVER_REQUEST_BYTES 8192u /* of a request, and of the headers of its answer */
#define SERVER_REQUEST_S     5u /* from the connection to the end of its request; of silence, too */
#define SERVER_ANSWER_S	     60u /* from there to the end of the answer */

struct server_options {
	const char *program; /* borrowed: fpless */
	const char *store;   /* "--store=FOLDER" */
	const char *metrics; /* a file of metrics; NULL: none */
	const struct door *door;
};

/*
 * Serve until SIGTERM, SIGINT or SIGHUP; @ready is called first. The process has one thread.
 * Errors: those of starting.
 */
FPL_MUST_CHECK int server_run(const struct server_options *options, void (*ready)(void *ctx),
			      void *ctx, struct fpl_err *err);
