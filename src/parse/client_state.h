/* SPDX-License-Identifier: Apache-2.0 */
/* A client, and how it is asked: for client*.c alone. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "base/log.h"
#include "parse/answer.h"
#include "parse/client.h"
#include "parse/message.h"

struct parse_client {
	struct parser *parser; /* borrowed */
	int sock;	       /* owned; -1: no worker */
	pid_t pid;
	clockid_t cpu_clock; /* of the worker */
	bool has_clock;	     /* false: it had gone already */
	struct trust trust;  /* of the worker */
	client_pause_fn pause;
	void *ctx;
	enum fpl_log_level level; /* of lines about debug files given up */
	bool mangled, keeps, calm, cancelled;
	/* owned; NULL: not needed yet. Reads the headers of debug files of another trust than their
	 * objects', so that the worker of an object gets only descriptors of its debug file. */
	struct parse_client *checker;

	bool was_killed; /* the worker lost last, from outside and not by the file */

	/* of the request at hand */
	const struct client_file *file;
	enum parse_op op;
	uint64_t began_cpu_ns, began_ns;
	uint64_t ran_ns; /* when the worker was last seen not stopped */
	/* of files whose file system asks a process or a server: */
	bool is_remote;
	uint64_t remote_dev;
	uint64_t looked_ns; /* when the worker was last looked at */
	uint64_t slept_ns;  /* that it was seen waiting for the file system */
	struct fpl_err *err;
};

/* One request. */
struct question {
	const struct client_file *file; /* borrowed */
	enum parse_op op;
	uint32_t flags;		/* PARSE_* */
	const uint64_t *vaddrs; /* borrowed [nr_vaddrs] */
	size_t nr_vaddrs;
	const char *text; /* of FUNCTION, borrowed; NULL: none */
	uint64_t code_bytes;
	uint32_t own_pid;
	void *ret;			      /* filled by the answer; its type depends on op */
	struct code_file_result *code_result; /* PERF_MAP, JITDUMP */
	struct table **table;		      /* FACTS, with PARSE_WITH_TABLE */
};

/* Have @question answered. @err may be NULL. Errors: those of parse/client.h. */
FPL_MUST_CHECK int client_ask(struct parse_client *client, const struct question *question,
			      struct fpl_err *err);
