/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/store_writer.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/served.h"
#include "base/wire.h"
#include "format/formats.h"
#include "format/read.h"
#include "proc/rights.h"
#include "recording/must_add.h"

enum {
	NAME_MAX_BYTES = 128,
	STEPS_A_WINDOW = 64,	/* of tending, where no window waits */
	STEPS_OF_FULL = 100000, /* where a window found no room */
	READ_BYTES = 512 << 20, /* of a recording */
};

/* A file comes beside it: a recording, or the text of the metrics. */
struct request {
	char name[NAME_MAX_BYTES]; /* of the recording, for messages */
	uint32_t is_metrics;	   /* 0 or 1 */
};

struct answer {
	int32_t code;
	uint64_t store_bytes;
	struct fpl_err err;
};

static void cleanup_store(struct store **store)
{
	store_close(*store);
}

/* Let the store do what there is to do, a step at a time, while no window waits. */
static int tend(struct store *store, int sock, size_t most, struct fpl_err *err)
{
	struct pollfd waiting = { .fd = sock, .events = POLLIN };
	int more = 1;

	for (size_t i = 0; more == 1 && i < most; i++) {
		if (sock >= 0 && poll(&waiting, 1, 0) != 0)
			return 0;
		more = store_tend(store, clock_ns(CLOCK_REALTIME), err);
	}
	return more < 0 ? more : 0;
}

static int insert(struct store *store, const char *labels, const char *name, int fd,
		  struct fpl_err *err)
{
	const struct read_options options = { .memory = READ_BYTES };
	CLEANUP(recording_fini) struct recording recording = { 0 };
	int code;

	must_recording_init(&recording);
	code = recording_read(name, fd, &options, &recording, err);
	if (!code)
		code = store_insert(store, &recording, labels, err);
	/* old windows make room for new ones */
	if (code == -ENOSPC && !tend(store, -1, STEPS_OF_FULL, err))
		code = store_insert(store, &recording, labels, err);
	return code;
}

/* Put the text in @fd in place of @path. */
static int replace_metrics(const char *path, int fd, struct fpl_err *err)
{
	struct output_file file = { 0 };
	char text[4096];
	ssize_t nr = 0;
	int code = output_file_open(path, &file, err);

	while (!code && (nr = io_read(fd, text, sizeof(text))) > 0)
		fwrite(text, 1, (size_t)nr, file.stream);
	if (!code && nr < 0)
		code = fpl_fail(err, (int)nr, "%s: %s", path, strerror((int)-nr));
	/* whoever collects it is another user */
	if (!code && fchmod(fileno(file.stream), 0644) < 0)
		code = fpl_fail(err, -errno, "%s: %s", path, strerror(errno));
	if (!code)
		code = output_file_commit(&file, err);
	output_file_abort(&file);
	return code;
}

static int handle(struct store *store, const struct store_writer_options *options,
		  const struct request *request, int fd, struct fpl_err *err)
{
	if (!request->is_metrics)
		return insert(store, options->labels, request->name, fd, err);
	return options->metrics ? replace_metrics(options->metrics, fd, err) : 0;
}

/* Take recordings until the other side closes. */
static void serve(struct store *store, const struct store_writer_options *options, int sock)
{
	struct answer answer = { 0 };

	for (;;) {
		int fds[WIRE_FDS_MAX];
		struct request request;
		struct fpl_err err = { 0 };

		if (wire_recv_fds(sock, &request, sizeof(request), fds))
			return;
		request.name[sizeof(request.name) - 1] = '\0';
		answer.code = handle(store, options, &request, fds[0], &answer.err);
		answer.store_bytes = store_bytes(store);
		for (size_t i = 0; i < WIRE_FDS_MAX; i++)
			if (fds[i] >= 0)
				close(fds[i]);
		if (wire_send(sock, &answer, sizeof(answer)))
			return;
		answer = (struct answer){ 0 };
		/* said with the answer to the next one */
		if (tend(store, sock, STEPS_A_WINDOW, &err))
			answer.err = err;
		/* a recording takes more memory than all else here, and the next one is a minute
		 * away */
		(void)malloc_trim(0);
	}
}

/* The signals that end a run are the parent's: the socket says when all is put in. */
static void ignore_ends(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	const struct sigaction action = { .sa_handler = SIG_IGN };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		sigaction(ends[i], &action, NULL);
}

static void run(const struct store_writer_options *options, int sock)
{
	CLEANUP(cleanup_store) struct store *store = NULL;
	struct answer answer = { 0 };
	struct fpl_err ignored;

	ignore_ends();
	answer.code = store_open_to_write(options->folder, options->limits, &store, &answer.err);
	if (!answer.code && rights_drop_all(&ignored))
		fpl_log(FPL_LOG_WARN, "%s: the writer of the store keeps all rights", ignored.msg);
	if (wire_send(sock, &answer, sizeof(answer)) || answer.code)
		return;
	serve(store, options, sock);
}

static int take_answer(struct store_writer *writer, struct fpl_err *err)
{
	struct answer answer;

	if (wire_recv(writer->socket, &answer, sizeof(answer)))
		return fpl_fail(err, -EPIPE, "the writer of the store has ended");
	answer.err.msg[sizeof(answer.err.msg) - 1] = '\0';
	writer->store_bytes = answer.store_bytes;
	if (answer.code)
		return fpl_fail(err, answer.code, "%s", answer.err.msg);
	if (answer.err.msg[0])
		fpl_log(FPL_LOG_WARN, "%s", answer.err.msg);
	return 0;
}

int store_writer_start(const struct store_writer_options *options, struct store_writer *ret,
		       struct fpl_err *err)
{
	int ends[2], code;

	*ret = STORE_WRITER_NONE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return fpl_fail(err, -errno, "socketpair: %s", strerror(errno));
	ret->pid = fork();
	if (ret->pid < 0) {
		code = -errno;
		close(ends[0]);
		close(ends[1]);
		return fpl_fail(err, code, "fork: %s", strerror(-code));
	}
	if (!ret->pid) {
		served_begin(ends[1], "fpless-store");
		run(options, STDIN_FILENO);
		_exit(0);
	}
	close(ends[1]);
	ret->socket = ends[0];
	return take_answer(ret, err);
}

static int ask(struct store_writer *writer, const struct request *request, int fd,
	       struct fpl_err *err)
{
	if (wire_send_fds(writer->socket, request, sizeof(*request), &fd, 1))
		return fpl_fail(err, -EPIPE, "the writer of the store has ended");
	return take_answer(writer, err);
}

int store_writer_put_file(struct store_writer *writer, const char *name, int fd,
			  struct fpl_err *err)
{
	struct request request = { 0 };

	snprintf(request.name, sizeof(request.name), "%s", name);
	return ask(writer, &request, fd, err);
}

int store_writer_put_metrics(struct store_writer *writer, const char *text, struct fpl_err *err)
{
	const struct request request = { .is_metrics = 1 };
	AUTO_FD int fd = memfd_create("metrics", MFD_CLOEXEC);
	int code = fd < 0 ? -errno : io_write(fd, text, strlen(text));

	if (!code && lseek(fd, 0, SEEK_SET))
		code = -errno;
	return code ? fpl_fail(err, code, "a file of memory: %s", strerror(-code))
		    : ask(writer, &request, fd, err);
}

int store_writer_put(struct store_writer *writer, const struct recording *recording,
		     struct fpl_err *err)
{
	const struct format_options options = { 0 };
	AUTO_FD int fd = memfd_create("window", MFD_CLOEXEC);
	FILE *to = fd < 0 ? NULL : fdopen(dup(fd), "w");
	uint64_t shown;
	int code;

	if (!to)
		return fpl_fail(err, -errno, "a file of memory: %s", strerror(errno));
	code = format_find(&recording_formats, "pprof")
		       ->write(to, recording, &options, &shown, err);
	if (fclose(to) && !code)
		code = fpl_fail(err, -errno, "a file of memory: %s", strerror(errno));
	if (!code && lseek(fd, 0, SEEK_SET))
		code = fpl_fail(err, -errno, "a file of memory: %s", strerror(errno));
	return code ? code : store_writer_put_file(writer, "window", fd, err);
}

void store_writer_end(struct store_writer *writer)
{
	if (writer->socket >= 0)
		close(writer->socket);
	while (writer->pid > 0 && waitpid(writer->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*writer = STORE_WRITER_NONE;
}
