/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: fpless-serve FPLESS STORE unix|tcp|stdio ADDRESS TOKEN METRICS
 * Executed by `fpless serve', which has checked these: the program to ask, the folder of the store,
 * where to listen, the file of the token, and that of metrics ("": none). With stdio the client is
 * at stdin and stdout. A program of its own, so that fpless is not linked with a web server.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/service.h"
#include "proc/leave_root.h"
#include "serve/server.h"
#include "serve/stdio_server.h"

enum { EXIT_CANNOT_RUN = 2 }; /* as of fpless */

enum { ARG_PROGRAM = 1, ARG_STORE, ARG_FAMILY, ARG_ADDRESS, ARG_TOKEN, ARG_METRICS, NR_ARGS };

struct serving {
	struct door door;
	struct service service;
	const char *address, *token_path;
};

/* server_run's: say where. The journal, which others may read, is not told the token. */
static void ready(void *ctx)
{
	const struct serving *serving = ctx;
	const struct door *door = &serving->door;
	const char *host = door->is_ipv6 ? "[::1]" : "127.0.0.1";

	if (!door->is_tcp)
		fpl_log(FPL_LOG_INFO, "serve: curl --unix-socket %s http://localhost/api/top",
			serving->address);
	else if (getenv("JOURNAL_STREAM"))
		fpl_log(FPL_LOG_INFO, "serve: http://%s:%u/, with the token in %s", host,
			door->port, serving->token_path);
	else
		fpl_log(FPL_LOG_INFO, "serve: http://%s:%u/#token=%s", host, door->port,
			door->token);
	service_tell(&serving->service, "READY=1\nSTATUS=Requests are answered.");
}

static bool is_family(char **argv, const char *family)
{
	return strcmp(argv[ARG_FAMILY], family) == 0;
}

static int open_door(struct serving *serving, char **argv, struct fpl_err *err)
{
	if (is_family(argv, "stdio"))
		return 0;
	return is_family(argv, "tcp")
		       ? door_open_tcp(argv[ARG_ADDRESS], argv[ARG_TOKEN], &serving->door, err)
		       : door_open_unix(argv[ARG_ADDRESS], &serving->door, err);
}

static int serve(struct serving *serving, char **argv, struct fpl_err *err)
{
	AUTO_FREE char *store = must_asprintf("--store=%s", argv[ARG_STORE]);
	const struct server_options options = {
		.program = argv[ARG_PROGRAM],
		.store = store,
		.metrics = *argv[ARG_METRICS] ? argv[ARG_METRICS] : NULL,
		.door = &serving->door,
	};
	const struct stdio_server_options stdio = { .program = argv[ARG_PROGRAM], .store = store };
	const struct leave_root leaving = {
		.verb = "serve",
		.store = argv[ARG_STORE],
		.program = argv[ARG_PROGRAM],
	};
	int code = open_door(serving, argv, err);

	if (!code)
		code = leave_root(&leaving, err);
	if (code)
		return code;
	return is_family(argv, "stdio") ? stdio_server_run(&stdio, err)
					: server_run(&options, ready, serving, err);
}

int main(int argc, char **argv)
{
	struct serving serving = { .door.fd = -1 };
	struct fpl_err err = { 0 };
	int code;

	if (argc != NR_ARGS) {
		fpl_log(FPL_LOG_ERROR, "fpless-serve: run by fpless serve");
		return EXIT_CANNOT_RUN;
	}
	serving.address = argv[ARG_ADDRESS];
	serving.token_path = argv[ARG_TOKEN];
	service_open(&serving.service);
	code = serve(&serving, argv, &err);
	service_tell(&serving.service, "STOPPING=1");
	service_close(&serving.service);
	/* may be a folder that only root may change: then the next server replaces it */
	if (!code && is_family(argv, "unix"))
		unlink(serving.address);
	if (code)
		fpl_log(FPL_LOG_ERROR, "serve: %s", err.msg);
	return code ? EXIT_CANNOT_RUN : EXIT_SUCCESS;
}
