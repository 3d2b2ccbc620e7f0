/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of targets, read by processes without rights. The parser is the profiler's hold on them: it
 * keeps a spawner (parse/spawner.h) and hires workers from it, each for the files of one trust
 * (obj/identity.h). May be used by several threads. Requests go through a client (parse/client.h).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/err.h"
#include "obj/identity.h"
#include "obj/opener.h"

struct parser;

enum parser_image {
	PARSER_EXEC,	  /* the spawner is this program anew: inherits no memory */
	PARSER_EXEC_BARE, /* the same for a process that gives up its capabilities: its opener
			     (obj/opener.h) has none either */
	PARSER_FORK, /* a copy of this process, its memory included: for programs that have no verb
			of their own, as tests, and processes that are for one file */
};

/* Begins a spawner, and an opener, but with PARSER_FORK: before there are threads. Whether the
 * spawner holds is seen at the first hire. Errors: -ENOMEM; socketpair(2), fork(2). */
FPL_MUST_CHECK int parser_create(enum parser_image image, struct parser **ret, struct fpl_err *err);
/* The opener of the files of targets; NULL, as of no parser: everything is opened here
 * (PARSER_FORK). */
struct opener *parser_opener(const struct parser *parser);

/* All clients must be closed. Ends the spawner and with it every worker. */
void parser_destroy(struct parser *parser);

/*
 * Hire a worker for files of @trust, one that no sample waits for if it is @calm: its socket is the
 * caller's to close, its @ret_pid to be handed to parser_bury(). A spawner that has gone is
 * replaced.
 *
 * Errors: -EAGAIN too many workers of this trust have died lately (16 at once, then one a second);
 * -EPIPE there is no spawner, and none to be had; errors of the sandbox.
 */
FPL_MUST_CHECK int parser_hire(struct parser *parser, const struct trust *trust, bool calm,
			       int *ret_sock, pid_t *ret_pid, struct fpl_err *err);

/* End worker @pid, whose socket is closed. Returns its wait(2) status, -1 if that is unknown. */
int parser_bury(struct parser *parser, pid_t pid);
/* The same of one that waits for a file system: whether it ends is not waited for. */
void parser_leave(struct parser *parser, pid_t pid);

/* Say, once, where workers may have so few descriptors that they keep fewer files than they could.
 */
void parser_tell_kept(struct parser *parser);

/* A file of @trust has cost a worker: counts against its next ones. */
void parser_blame(struct parser *parser, const struct trust *trust);

/* Workers that files have cost. */
uint64_t parser_nr_deaths(struct parser *parser);
