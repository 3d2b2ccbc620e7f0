/* SPDX-License-Identifier: Apache-2.0 */
/* The server of one client, which began it: messages on stdin, answers on stdout. */
#pragma once

#include "base/err.h"

struct stdio_server_options {
	const char *program; /* borrowed: fpless */
	const char *store;   /* "--store=FOLDER" */
};

/*
 * Answer until stdin ends, stdout is closed, or SIGTERM, SIGINT or SIGHUP comes. One question at a
 * time. The process has one thread. Errors: those of starting, and of reading and writing.
 */
FPL_MUST_CHECK int stdio_server_run(const struct stdio_server_options *options,
				    struct fpl_err *err);
