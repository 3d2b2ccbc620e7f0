/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/desk.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "obj/file_stat.h"
#include "parse/desk_state.h"
#include "parse/name_key.h"
#include "parse/sandbox.h"
#include "parse/stopped.h"
#include "base/wire.h"

#define TRIES	   3 /* of a request whose worker is killed from outside */
#define PAUSE_MS   10
#define STOPPED_NS NS_PER_S			  /* a worker may be stopped for this long */
#define WORKER_NS  (SANDBOX_CPU_S * NS_PER_S / 2) /* CPU time after which a worker is relieved */

/* Limits of a request: CPU time of the worker; by the clock, should it have been stopped.
 */
static const struct {
	uint64_t cpu_ns, clock_ns;
} limits[PARSE_OP_COUNT] = {
	[PARSE_FACTS] = { 2 * NS_PER_S, 10 * NS_PER_S },
	[PARSE_MATCH] = { 2 * NS_PER_S, 30 * NS_PER_S },
	[PARSE_TABLE] = { 5 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_NAMES] = { 10 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_FRAMES] = { 10 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_LINES] = { 10 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_PERF_MAP] = { 5 * NS_PER_S, 30 * NS_PER_S },
	[PARSE_JITDUMP] = { 5 * NS_PER_S, 30 * NS_PER_S },
	[PARSE_EXAMINE] = { 20 * NS_PER_S, 120 * NS_PER_S },
	[PARSE_NAMES_DIGEST] = { 2 * NS_PER_S, 10 * NS_PER_S },
	[PARSE_CRC] = { 2 * NS_PER_S, 30 * NS_PER_S },
};

/* CPU time of the worker; 0 once it has gone. */
static uint64_t worker_cpu_ns(const struct desk *desk)
{
	clockid_t clock;

	return clock_getcpuclockid(desk->pid, &clock) ? 0 : clock_ns(clock);
}

uint64_t desk_spent_ns(const struct desk *desk)
{
	uint64_t now_ns = desk->sock >= 0 ? worker_cpu_ns(desk) : 0;

	return now_ns >= desk->began_cpu_ns && now_ns ? now_ns - desk->began_cpu_ns
						      : limits[desk->op].cpu_ns;
}

int desk_open(struct parser *parser, struct desk **ret, struct fpl_err *err)
{
	struct desk *desk = calloc(1, sizeof(*desk));

	if (!desk)
		return fpl_fail(err, -ENOMEM, "parser: out of memory");
	desk->parser = parser;
	desk->sock = -1;
	desk->level = FPL_LOG_WARN;
	*ret = desk;
	return 0;
}

/* Lets the worker go. Returns how it ended, as wait(2) says it. */
static int dismiss(struct desk *desk)
{
	if (desk->sock < 0)
		return -1;
	close(desk->sock);
	desk->sock = -1;
	return parser_bury(desk->parser, desk->pid);
}

void desk_close(struct desk *desk)
{
	if (!desk)
		return;
	desk_close(desk->checker);
	dismiss(desk);
	free(desk);
}

struct opener *desk_opener(const struct desk *desk)
{
	return parser_opener(desk->parser);
}

void desk_on_pause(struct desk *desk, desk_pause_fn pause, void *ctx)
{
	desk->pause = pause;
	desk->ctx = ctx;
}

void desk_calm(struct desk *desk)
{
	desk->calm = true;
}

void desk_cancel(struct desk *desk)
{
	desk->cancelled = true;
}

void desk_hush(struct desk *desk)
{
	desk->level = FPL_LOG_DEBUG;
}

void desk_mangled(struct desk *desk)
{
	desk->mangled = true;
}

void desk_keep(struct desk *desk)
{
	desk->keeps = true;
}

int desk_file_init(struct desk_file *file, int fd, const char *path)
{
	struct stat st;
	int code = file_stat(fd, &st, NULL);

	*file = (struct desk_file){ .fd = fd, .path = path, .debug_fd = -1, .alt_fd = -1 };
	if (code)
		return code;
	file->size = (uint64_t)st.st_size;
	return trust_read(fd, &file->trust);
}

/* The worker is of no use any more, and that is the file's fault: @what it did. */
static int lose(struct desk *desk, const char *what)
{
	parser_blame(desk->parser, &desk->file->trust);
	dismiss(desk);
	return fpl_fail(desk->err, -EOWNERDEAD, "%s: %s", desk->file->path, what);
}

/*
 * The worker closed its socket: it has ended. A crash is blamed on the file. SIGKILL is not: the
 * OOM killer or an operator may have sent it.
 */
static int lose_dead(struct desk *desk)
{
	int status = dismiss(desk);

	desk->was_killed = status != -1 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	if (!desk->was_killed)
		parser_blame(desk->parser, &desk->file->trust);
	if (status != -1 && WIFSIGNALED(status))
		return fpl_fail(desk->err, -EOWNERDEAD,
				"%s: the process that read it was killed by signal %d (%s)",
				desk->file->path, WTERMSIG(status), strsignal(WTERMSIG(status)));
	return fpl_fail(desk->err, -EOWNERDEAD, "%s: the process that read it has ended",
			desk->file->path);
}

/* The worker was stopped: it could wait for ever. */
static int lose_stopped(struct desk *desk)
{
	dismiss(desk);
	desk->was_killed = true;
	return fpl_fail(desk->err, -EOWNERDEAD, "%s: the process that read it was stopped",
			desk->file->path);
}

/* The answer is no longer wanted. */
static int give_up(struct desk *desk)
{
	dismiss(desk);
	return fpl_fail(desk->err, -ECANCELED, "%s: given up", desk->file->path);
}

/* One that waits for a CPU is left in peace; one that was stopped is not waited for. */
static bool is_stopped_for_long(struct desk *desk, uint64_t now)
{
	if (now < desk->ran_ns + STOPPED_NS)
		return false;
	if (process_is_stopped(desk->pid))
		return true;
	desk->ran_ns = now;
	return false;
}

/* Its file system does not answer the worker, which may never end and is left behind. */
static int lose_silent(struct desk *desk)
{
	opener_waited(parser_opener(desk->parser), desk->remote_dev, desk->slept_ns, false);
	close(desk->sock);
	desk->sock = -1;
	parser_leave(desk->parser, desk->pid);
	return fpl_fail(desk->err, -ETIMEDOUT, "%s: file did not answer", desk->file->path);
}

/* Has the worker waited for the file's system for as long as it may? */
static bool is_silent_for_long(struct desk *desk, uint64_t now)
{
	char state;

	if (!desk->is_remote)
		return false;
	state = process_state(desk->pid);
	if (state == 'S' || state == 'D')
		desk->slept_ns += now - desk->looked_ns;
	desk->looked_ns = now;
	return desk->slept_ns > opener_patience_ns(parser_opener(desk->parser), desk->remote_dev);
}

/* Waits until the socket is ready for @events. */
static int wait_for(struct desk *desk, short events)
{
	struct pollfd poll_fd = { .fd = desk->sock, .events = events };

	for (;;) {
		int nr = poll(&poll_fd, 1, PAUSE_MS);
		uint64_t now = clock_monotonic_ns();

		if (nr > 0)
			return 0;
		if (desk->pause)
			desk->pause(desk->ctx);
		if (desk->cancelled)
			return give_up(desk);
		if (worker_cpu_ns(desk) > desk->began_cpu_ns + limits[desk->op].cpu_ns)
			return lose(desk, "reading it takes more CPU time than a file may");
		if (is_silent_for_long(desk, now))
			return lose_silent(desk);
		if (is_stopped_for_long(desk, now))
			return lose_stopped(desk);
		if (now > desk->began_ns + limits[desk->op].clock_ns)
			return lose(desk, "reading it takes too long");
	}
}

static int send_all(struct desk *desk, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;

	for (size_t done = 0; done < size;) {
		ssize_t n = send(desk->sock, from + done, size - done, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n >= 0) {
			done += (size_t)n;
			continue;
		}
		if (errno != EAGAIN && errno != EINTR)
			return lose_dead(desk);

		int code = wait_for(desk, POLLOUT);

		if (code)
			return code;
	}
	return 0;
}

/* answer_read_fn */
static int recv_all(void *ctx, void *bytes, size_t size)
{
	struct desk *desk = ctx;
	uint8_t *to = bytes;

	for (size_t done = 0; done < size;) {
		ssize_t n = recv(desk->sock, to + done, size - done, MSG_DONTWAIT);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			return lose_dead(desk);

		int code = wait_for(desk, POLLIN);

		if (code)
			return code;
	}
	return 0;
}

/* A worker that may read the file: the one at hand unless it read files of another trust. */
static int need_worker(struct desk *desk)
{
	if (desk->sock >= 0 &&
	    (memcmp(&desk->trust, &desk->file->trust, sizeof(desk->trust)) != 0 ||
	     worker_cpu_ns(desk) > WORKER_NS))
		dismiss(desk);
	if (desk->sock >= 0)
		return 0;

	int code = parser_hire(desk->parser, &desk->file->trust, desk->calm, &desk->sock,
			       &desk->pid, desk->err);

	if (code)
		return fpl_fail_in(desk->err, code, "%s", desk->file->path);
	desk->trust = desk->file->trust;
	if (desk->keeps)
		parser_tell_kept(desk->parser);
	return 0;
}

/* The key under which the worker keeps what the question is about; false: it should not. */
static bool find_key(const struct desk *desk, const struct question *question,
		     struct parse_key *ret)
{
	const struct desk_file *file = question->file;
	const int fds[] = { file->fd, file->debug_fd, file->alt_fd };
	struct name_key key;

	_Static_assert(ARRAY_SIZE(fds) == ARRAY_SIZE(ret->bytes), "a digest for each file");
	if (!desk->keeps || (question->op != PARSE_NAMES && question->op != PARSE_LINES))
		return false;
	memset(ret, 0, sizeof(*ret));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (fds[i] < 0)
			continue;
		if (name_key_read(fds[i], i ? "/" : file->path, desk->mangled, &key))
			return false;
		memcpy(ret->bytes[i], key.bytes, sizeof(key.bytes));
	}
	return true;
}

/* The files of a request as they go to the worker; those in envelopes are ours to close. */
struct parcel {
	int fds[WIRE_FDS_MAX];
	bool is_sealed[WIRE_FDS_MAX];
	size_t nr;
	uint32_t flags; /* PARSE_SEALED_* */
};

static void parcel_fini(struct parcel *parcel)
{
	for (size_t i = 0; i < parcel->nr; i++) {
		if (parcel->is_sealed[i])
			close(parcel->fds[i]);
	}
}

/* Adds @fd, if there is one; where it is a place, an envelope with its file and @flag. */
static int pack(struct desk *desk, int fd, uint32_t flag, struct parcel *parcel)
{
	const struct opener_wait wait = { desk->pause, desk->ctx };
	struct trust trust;
	int code;

	if (fd < 0)
		return 0;
	if (!opener_holds_place(fd)) {
		parcel->fds[parcel->nr++] = fd;
		return 0;
	}
	code = trust_read(fd, &trust);
	if (!code)
		code = opener_envelope(parser_opener(desk->parser), fd, &wait,
				       &parcel->fds[parcel->nr]);
	if (code == -ETIMEDOUT)
		return fpl_fail(desk->err, code, "%s: file did not answer", desk->file->path);
	if (code)
		return fpl_fail(desk->err, code, "%s: %s", desk->file->path, strerror(-code));
	parcel->is_sealed[parcel->nr++] = true;
	parcel->flags |= flag;
	if (!desk->is_remote)
		desk->remote_dev = trust.dev;
	desk->is_remote = true;
	return 0;
}

static int send_request(struct desk *desk, const struct question *question,
			const struct parcel *parcel)
{
	const struct desk_file *file = question->file;
	struct parse_request request = {
		.op = question->op,
		.flags = question->flags | (file->debug_fd >= 0 ? PARSE_HAS_DEBUG : 0) |
			 (file->alt_fd >= 0 ? PARSE_HAS_ALT : 0) | parcel->flags,
		.file_size = file->size,
		.debug_size = file->debug_size,
		.alt_size = file->alt_size,
		.name_size = (uint32_t)strnlen(file->path, PARSE_NAME_MAX),
		.nr_vaddrs = (uint32_t)question->nr_vaddrs,
		.code_bytes = question->code_bytes,
		.own_pid = question->own_pid,
	};

	if (find_key(desk, question, &request.key))
		request.flags |= PARSE_KEEP;
	/* nothing is under way: it fits the socket's buffer */
	if (wire_send_fds(desk->sock, &request, sizeof(request), parcel->fds, parcel->nr))
		return lose_dead(desk);

	int code = send_all(desk, file->path, request.name_size);

	return code ? code
		    : send_all(desk, question->vaddrs,
			       question->nr_vaddrs * sizeof(*question->vaddrs));
}

static int read_code(struct answer_reader *reader, const struct question *question,
		     struct fpl_err *err)
{
	struct code_table *table = question->ret;
	size_t max_bytes = table->max_bytes;

	/* what a worker left half-done that was killed before this one was asked */
	code_table_fini(table);
	code_table_init(table, max_bytes);
	return answer_code(reader, table, question->code_result, err);
}

/* Reads the answer behind its head. */
static int read_rest(struct answer_reader *reader, const struct question *question,
		     struct fpl_err *err)
{
	switch (question->op) {
	case PARSE_FACTS:
		return answer_facts(reader, question->ret, err);
	case PARSE_TABLE:
		return answer_table(reader, question->ret, err);
	case PARSE_NAMES:
		return answer_names(reader, question->vaddrs, question->nr_vaddrs, question->ret,
				    err);
	case PARSE_LINES:
		return answer_lines(reader, question->nr_vaddrs, question->ret, err);
	case PARSE_FRAMES:
		return answer_frames(reader, question->nr_vaddrs, question->ret, err);
	case PARSE_PERF_MAP:
	case PARSE_JITDUMP:
		return read_code(reader, question, err);
	case PARSE_EXAMINE:
		return answer_examination(reader, question->ret, err);
	case PARSE_NAMES_DIGEST:
		return reader->read(reader->ctx, question->ret, IDENTITY_DIGEST_SIZE);
	case PARSE_CRC:
		return reader->read(reader->ctx, question->ret, sizeof(uint32_t));
	case PARSE_MATCH: /* the head says it */
	case PARSE_OP_COUNT:
	default:
		return 0;
	}
}

static int ask_once(struct desk *desk, const struct question *question, struct fpl_err *err)
{
	struct answer_reader reader = { .read = recv_all,
					.ctx = desk,
					.path = question->file->path };
	CLEANUP(parcel_fini) struct parcel parcel = { .nr = 0 };

	desk->file = question->file;
	desk->op = question->op;
	desk->err = err;
	desk->was_killed = desk->cancelled = desk->is_remote = false;

	int code = pack(desk, question->file->fd, PARSE_SEALED_FILE, &parcel);

	if (!code)
		code = pack(desk, question->file->debug_fd, PARSE_SEALED_DEBUG, &parcel);
	if (!code)
		code = pack(desk, question->file->alt_fd, PARSE_SEALED_ALT, &parcel);
	if (!code)
		code = need_worker(desk);
	if (code)
		return code;
	desk->began_cpu_ns = worker_cpu_ns(desk);
	desk->began_ns = desk->ran_ns = desk->looked_ns = clock_monotonic_ns();
	desk->slept_ns = 0;
	code = send_request(desk, question, &parcel);
	if (!code)
		code = answer_head(&reader, question->op, err);
	if (!code)
		code = read_rest(&reader, question, err);
	if (desk->is_remote && code != -ETIMEDOUT)
		opener_waited(parser_opener(desk->parser), desk->remote_dev, desk->slept_ns, true);
	/* what made no sense, or was not read to its end, would be taken for the next answer */
	if (code == -EBADMSG && desk->sock >= 0)
		return lose(desk, err->msg);
	if (code == -ENOMEM)
		dismiss(desk);
	return code;
}

int desk_ask(struct desk *desk, const struct question *question, struct fpl_err *err)
{
	struct fpl_err own = { 0 };
	int code = -EOWNERDEAD;

	if (question->nr_vaddrs > PARSE_VADDRS_MAX)
		return fpl_fail(err, -E2BIG, "%s: more than %u addresses", question->file->path,
				PARSE_VADDRS_MAX);
	for (int i = 0; i < TRIES && code == -EOWNERDEAD && (i == 0 || desk->was_killed); i++)
		code = ask_once(desk, question, &own);
	if (code == -EOWNERDEAD && desk->was_killed)
		parser_blame(desk->parser, &question->file->trust);
	if (code && err)
		*err = own;
	return code;
}
