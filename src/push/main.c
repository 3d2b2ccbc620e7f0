/* SPDX-License-Identifier: Apache-2.0 */
/*
 * usage: fpless-push FPLESS TARGET URL STORE STATE TOKEN TENANT CA METRICS LABELS NUMBERS
 * Executed by `fpless push', which has checked these: the program to ask, what its options have
 * ("": none), and its numbers. A program of its own, so that fpless is not linked with a client of
 * HTTP and TLS.
 */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/run_user.h"
#include "base/service.h"
#include "base/text.h"
#include "proc/leave_root.h"
#include "push/pusher.h"
#include "push/secret.h"

enum { EXIT_USAGE = 1, EXIT_CANNOT_RUN = 2, EXIT_OUTPUT = 6 }; /* as of fpless */

enum {
	ARG_PROGRAM = 1,
	ARG_TARGET,
	ARG_URL,
	ARG_STORE,
	ARG_STATE,
	ARG_TOKEN,
	ARG_TENANT,
	ARG_CA,
	ARG_METRICS,
	ARG_LABELS,
	ARG_NUMBERS,
	NR_ARGS
};

enum { SINCE, MAX_AGE, EVERY, RETRY, TIMEOUT, ONCE, INSECURE, NR_NUMBERS };

/* Files, connections and texts of this process. */
struct pushing {
	struct service service;
	struct cursor_file cursor_file;
	struct labels_given labels;
	struct http *http;
	char *secret; /* owned */
	int stop_fd;  /* owned */
};

static void pushing_fini(struct pushing *pushing)
{
	http_destroy(pushing->http);
	if (pushing->secret)
		explicit_bzero(pushing->secret, strlen(pushing->secret));
	free(pushing->secret);
	labels_given_fini(&pushing->labels);
	cursor_close(&pushing->cursor_file);
	cleanup_fd(&pushing->stop_fd);
	service_close(&pushing->service);
}

static bool read_numbers(char *text, uint64_t ret[static NR_NUMBERS])
{
	size_t nr = 0;
	char *word;

	while ((word = strsep(&text, " ")))
		if (nr == NR_NUMBERS || !text_to_number(word, UINT64_MAX, &ret[nr++]))
			return false;
	return nr == NR_NUMBERS;
}

/* As root the user that this process becomes gets the folder, if root has just made it. */
static int give_folder(const char *folder, struct fpl_err *err)
{
	struct run_user user;

	if (mkdir(folder, 0700))
		return errno == EEXIST ? 0
				       : fpl_fail(err, -errno, "%s: %s", folder, strerror(errno));
	if (run_user_find(&user) && chown(folder, user.uid, user.gid))
		return fpl_fail(err, -errno, "%s: %s", folder, strerror(errno));
	return 0;
}

/* Everything that needs the rights of the start. */
static int open_all(struct pushing *pushing, char **argv, const uint64_t *numbers,
		    const struct target *target, struct fpl_err *err)
{
	struct http_options http = {
		.url = argv[ARG_URL],
		.path = target->path,
		.content_type = target->content_type,
		.encoding = target->encoding,
		.tenant = argv[ARG_TENANT],
		.ca = argv[ARG_CA],
		.timeout_ms = numbers[TIMEOUT],
		.insecure = numbers[INSECURE],
		.once_only = target->once_only,
	};
	const struct leave_root leaving = { .verb = "push",
					    .store = argv[ARG_STORE],
					    .program = argv[ARG_PROGRAM],
					    .folder = argv[ARG_STATE] };
	int code = service_open_end(&pushing->stop_fd, err);

	http.stop_fd = pushing->stop_fd;
	if (!code)
		code = secret_read(argv[ARG_TOKEN], &pushing->secret, err);
	if (code)
		return code;
	http.secret = pushing->secret;
	code = http_create(&http, &pushing->http, err);
	if (!code)
		code = give_folder(argv[ARG_STATE], err);
	if (!code)
		code = leave_root(&leaving, err);
	if (!code)
		code = cursor_open(argv[ARG_STATE], target->name, argv[ARG_URL], argv[ARG_TENANT],
				   &pushing->cursor_file, err);
	return code;
}

static int run(struct pushing *pushing, char **argv, const uint64_t *numbers,
	       const struct target *target, struct fpl_err *err)
{
	struct pusher pusher = {
		.target = target,
		.program = argv[ARG_PROGRAM],
		.store = argv[ARG_STORE],
		.metrics = argv[ARG_METRICS],
		.http = pushing->http,
		.cursor_file = &pushing->cursor_file,
		.labels = &pushing->labels,
		.service = &pushing->service,
		.stop_fd = pushing->stop_fd,
		.since_ns = numbers[SINCE],
		.max_age_ns =
			numbers[MAX_AGE] == UINT64_MAX ? target->max_age_ns : numbers[MAX_AGE],
		.every_ns = numbers[EVERY] * NS_PER_MS,
		.retry_ns = numbers[RETRY] * NS_PER_MS,
		.once = numbers[ONCE],
	};
	bool left = false;
	int code;

	service_tell(&pushing->service, "READY=1");
	code = pusher_run(&pusher, &left, err);
	service_tell(&pushing->service, "STOPPING=1");
	if (code)
		return EXIT_CANNOT_RUN;
	return pusher.once && left ? EXIT_OUTPUT : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	CLEANUP(pushing_fini)
	struct pushing pushing = { .service = SERVICE_NONE,
				   .cursor_file = CURSOR_FILE_NONE,
				   .stop_fd = -1 };
	uint64_t numbers[NR_NUMBERS];
	const struct target *target = argc == NR_ARGS ? target_find(argv[ARG_TARGET]) : NULL;
	struct fpl_err err = { 0 };
	int status = EXIT_CANNOT_RUN;

	if (!target || !read_numbers(argv[ARG_NUMBERS], numbers)) {
		fpl_log(FPL_LOG_ERROR, "fpless-push: run by fpless push");
		return EXIT_CANNOT_RUN;
	}
	/* its memory has a secret */
	prctl(PR_SET_DUMPABLE, 0);
	service_open(&pushing.service);
	labels_given_init(argv[ARG_LABELS], &pushing.labels);
	if (curl_global_init(CURL_GLOBAL_DEFAULT))
		(void)fpl_fail(&err, -ENOTSUP, "libcurl cannot be used here");
	else if (!open_all(&pushing, argv, numbers, target, &err))
		status = run(&pushing, argv, numbers, target, &err);
	if (err.code)
		fpl_log(FPL_LOG_ERROR, "push: %s", err.msg);
	return err.code == -EINVAL ? EXIT_USAGE : status;
}
