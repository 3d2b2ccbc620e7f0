/* SPDX-License-Identifier: Apache-2.0 */
#include "parse/desk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "obj/regular_file.h"
#include "parse/answer.h"
#include "parse/message.h"
#include "parse/name_key.h"
#include "parse/sandbox.h"
#include "parse/stopped.h"
#include "parse/wire.h"

#define TRIES	   3 /* of a request whose worker somebody kills */
#define PAUSE_MS   10
#define STOPPED_NS NS_PER_S			  /* so long somebody may have stopped a worker */
#define WORKER_NS  (SANDBOX_CPU_S * NS_PER_S / 2) /* CPU time after which a worker is relieved */

/* What a request may take: CPU time of the worker; by the clock, should somebody have stopped it.
 */
static const struct {
	uint64_t cpu_ns, clock_ns;
} limits[PARSE_OP_COUNT] = {
	[PARSE_FACTS] = { 2 * NS_PER_S, 10 * NS_PER_S },
	[PARSE_MATCH] = { 2 * NS_PER_S, 30 * NS_PER_S },
	[PARSE_TABLE] = { 5 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_NAMES] = { 10 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_FUNCTIONS] = { 5 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_FRAMES] = { 10 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_LINES] = { 10 * NS_PER_S, 60 * NS_PER_S },
	[PARSE_PERF_MAP] = { 5 * NS_PER_S, 30 * NS_PER_S },
	[PARSE_JITDUMP] = { 5 * NS_PER_S, 30 * NS_PER_S },
	[PARSE_EXAMINE] = { 20 * NS_PER_S, 120 * NS_PER_S },
};

struct desk {
	struct parser *parser; /* borrowed */
	int sock;	       /* owned; -1: no worker */
	pid_t pid;
	struct trust trust; /* of the worker */
	desk_pause_fn pause;
	void *ctx;
	enum fpl_log_level level; /* of lines about debug files given up */
	bool mangled, keeps, calm, cancelled;

	bool was_killed; /* the worker lost last: by somebody, over nothing in the file */

	/* of the request at hand */
	const struct desk_file *file;
	enum parse_op op;
	uint64_t began_cpu_ns, began_ns;
	uint64_t ran_ns; /* when the worker was last seen not stopped */
	struct fpl_err *err;
};

/* CPU time of the worker; 0 once it has gone. */
static uint64_t worker_cpu_ns(const struct desk *desk)
{
	clockid_t clock;

	return clock_getcpuclockid(desk->pid, &clock) ? 0 : clock_ns(clock);
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
	dismiss(desk);
	free(desk);
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

int desk_file_init(struct desk_file *file, int fd, const char *path)
{
	struct stat st;

	*file = (struct desk_file){ .fd = fd, .path = path, .debug_fd = -1, .alt_fd = -1 };
	if (fstat(fd, &st) < 0)
		return -errno;
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
 * The worker closed its socket: it has ended. A fault is the file's; SIGKILL comes from somebody,
 * who may have had another reason.
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

/* Somebody has stopped the worker: it could wait for ever, and is of no use. */
static int lose_stopped(struct desk *desk)
{
	dismiss(desk);
	desk->was_killed = true;
	return fpl_fail(desk->err, -EOWNERDEAD, "%s: the process that read it was stopped",
			desk->file->path);
}

/* Nobody waits for the answer any more. */
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

/* One request: what is asked, and who reads the rest of the answer. */
struct question {
	const struct desk_file *file; /* borrowed */
	enum parse_op op;
	uint32_t flags;		/* PARSE_* */
	const uint64_t *vaddrs; /* borrowed [nr_vaddrs] */
	size_t nr_vaddrs;
	uint64_t code_bytes;
	uint32_t own_pid;
	/* Reads what follows the head of the answer into @ret; NULL: nothing does. */
	int (*take)(struct answer_reader *reader, const struct question *question, void *ret,
		    struct fpl_err *err);
	void *ret;
};

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

static int send_request(struct desk *desk, const struct question *question)
{
	const struct desk_file *file = question->file;
	struct parse_request request = {
		.op = question->op,
		.flags = question->flags | (file->debug_fd >= 0 ? PARSE_HAS_DEBUG : 0) |
			 (file->alt_fd >= 0 ? PARSE_HAS_ALT : 0),
		.file_size = file->size,
		.debug_size = file->debug_size,
		.alt_size = file->alt_size,
		.name_size = (uint32_t)strnlen(file->path, PARSE_NAME_MAX),
		.nr_vaddrs = (uint32_t)question->nr_vaddrs,
		.code_bytes = question->code_bytes,
		.own_pid = question->own_pid,
	};
	int fds[WIRE_FDS_MAX] = { file->fd };
	size_t nr_fds = 1;

	if (file->debug_fd >= 0)
		fds[nr_fds++] = file->debug_fd;
	if (file->alt_fd >= 0)
		fds[nr_fds++] = file->alt_fd;
	if (find_key(desk, question, &request.key))
		request.flags |= PARSE_KEEP;
	/* nothing is under way: it fits the socket's buffer */
	if (wire_send_fds(desk->sock, &request, sizeof(request), fds, nr_fds))
		return lose_dead(desk);

	int code = send_all(desk, file->path, request.name_size);

	return code ? code
		    : send_all(desk, question->vaddrs,
			       question->nr_vaddrs * sizeof(*question->vaddrs));
}

static int ask_once(struct desk *desk, const struct question *question, struct fpl_err *err)
{
	struct answer_reader reader = { .read = recv_all,
					.ctx = desk,
					.path = question->file->path };

	desk->file = question->file;
	desk->op = question->op;
	desk->err = err;
	desk->was_killed = desk->cancelled = false;

	int code = need_worker(desk);

	if (code)
		return code;
	desk->began_cpu_ns = worker_cpu_ns(desk);
	desk->began_ns = desk->ran_ns = clock_monotonic_ns();
	code = send_request(desk, question);
	if (!code)
		code = answer_head(&reader, question->op, err);
	if (!code && question->take)
		code = question->take(&reader, question, question->ret, err);
	/* what made no sense, or was not read to its end, would be taken for the next answer */
	if (code == -EBADMSG && desk->sock >= 0)
		return lose(desk, err->msg);
	if (code == -ENOMEM)
		dismiss(desk);
	return code;
}

/* @err: may be NULL. */
static int ask(struct desk *desk, const struct question *question, struct fpl_err *err)
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

static int take_facts(struct answer_reader *reader, const struct question *question, void *ret,
		      struct fpl_err *err)
{
	(void)question;
	return answer_facts(reader, ret, err);
}

int desk_facts(struct desk *desk, const struct desk_file *file, struct elf_file **ret,
	       struct identity *ret_identity, struct debug_link *ret_link, struct fpl_err *err)
{
	struct answer_facts facts;
	const struct question question = {
		.file = file,
		.op = PARSE_FACTS,
		.flags = ret_identity ? 0 : PARSE_NO_DIGEST,
		.take = take_facts,
		.ret = &facts,
	};
	int code = ask(desk, &question, err);

	if (code)
		return code;

	const struct elf_facts elf_facts = {
		.type = facts.head.type,
		.machine = facts.head.machine,
		.entry = facts.head.entry,
		.segments = facts.segments,
		.nr_segments = facts.head.nr_segments,
		.build_id = facts.head.identity.build_id,
		.build_id_size = facts.head.identity.build_id_size,
	};
	int fd = fcntl(file->fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		code = fpl_fail(err, -errno, "%s: %s", file->path, strerror(errno));
	else
		code = elf_file_assemble(fd, file->size, file->path, &elf_facts, ret, err);
	free(facts.segments);
	if (ret_identity)
		*ret_identity = facts.head.identity;
	*ret_link = facts.head.link;
	return code;
}

static int take_table(struct answer_reader *reader, const struct question *question, void *ret,
		      struct fpl_err *err)
{
	(void)question;
	return answer_table(reader, ret, err);
}

int desk_table(struct desk *desk, const struct desk_file *file, struct table **ret,
	       struct fpl_err *err)
{
	const struct question question = {
		.file = file,
		.op = PARSE_TABLE,
		.flags = (file->synth ? PARSE_SYNTH : 0) | (file->quick ? PARSE_QUICK : 0),
		.vaddrs = file->near,
		.nr_vaddrs = file->nr_near,
		.take = take_table,
		.ret = ret,
	};

	return ask(desk, &question, err);
}

/* Is what @candidate names the debug file of @file? *ret_fd is the caller's then. */
static bool try_candidate(struct desk *desk, const struct desk_file *file, const char *candidate,
			  bool by_link, int *ret_fd, uint64_t *ret_size)
{
	AUTO_FD int fd = -1;
	struct stat st, own;
	struct trust trust;
	struct fpl_err err = { 0 };

	if (regular_file_open(candidate, &fd, &st) || trust_read(fd, &trust) ||
	    fstat(file->fd, &own) < 0)
		return false;
	if (st.st_dev == own.st_dev && st.st_ino == own.st_ino)
		return false;
	if (!trust_covers(&file->trust, &trust)) {
		fpl_log(FPL_LOG_DEBUG, "%s: debug file %s is somebody else's", file->path,
			candidate);
		return false;
	}

	struct desk_file both = *file;

	both.debug_fd = fd;
	both.debug_size = (uint64_t)st.st_size;

	const struct question question = { .file = &both,
					   .op = PARSE_MATCH,
					   .flags = by_link ? PARSE_BY_LINK : 0 };
	int code = ask(desk, &question, &err);

	if (code) {
		fpl_log(code == -EOWNERDEAD ? desk->level : FPL_LOG_DEBUG,
			"%s: debug file %s not used", err.msg[0] ? err.msg : file->path, candidate);
		return false;
	}
	*ret_size = both.debug_size;
	*ret_fd = TAKE_FD(fd);
	return true;
}

void desk_find_debug(struct desk *desk, struct desk_file *file, const struct elf_file *elf,
		     const struct debug_link *link, char ret_path[PATH_MAX])
{
	const struct debug_search search = {
		.build_id = elf->build_id,
		.build_id_size = elf->build_id_size,
		.link = link,
		.path = file->path[0] != '[' ? file->path : NULL, /* [vdso] */
	};
	char candidate[PATH_MAX];

	file->debug_fd = -1;
	if (ret_path)
		ret_path[0] = '\0';
	for (size_t i = 0; i < DEBUG_FILE_CANDIDATES && file->debug_fd < 0; i++) {
		if (!debug_file_candidate(&search, i, candidate) ||
		    !try_candidate(desk, file, candidate, i > 0, &file->debug_fd,
				   &file->debug_size))
			continue;
		if (ret_path)
			memcpy(ret_path, candidate, PATH_MAX);
	}
}

/* The headers' facts of the file open at @fd, which is not @file but as little to be trusted. */
static bool read_head(struct desk *desk, const struct desk_file *file, int fd, uint64_t size,
		      struct parse_facts *ret)
{
	const struct desk_file alone = { .fd = fd,
					 .size = size,
					 .path = file->path,
					 .trust = file->trust,
					 .debug_fd = -1,
					 .alt_fd = -1 };
	struct answer_facts facts;
	const struct question question = { .file = &alone,
					   .op = PARSE_FACTS,
					   .flags = PARSE_NO_DIGEST,
					   .take = take_facts,
					   .ret = &facts };

	if (ask(desk, &question, NULL))
		return false;
	free(facts.segments);
	*ret = facts.head;
	return true;
}

/* Is the file at @candidate the supplement that @link names? It is in @file then. */
static bool try_alt(struct desk *desk, struct desk_file *file, const struct debug_alt_link *link,
		    const char *candidate)
{
	AUTO_FD int fd = -1;
	struct stat st;
	struct trust trust;
	struct parse_facts facts;

	if (regular_file_open(candidate, &fd, &st) || trust_read(fd, &trust) ||
	    !trust_covers(&file->trust, &trust) ||
	    !read_head(desk, file, fd, (uint64_t)st.st_size, &facts) ||
	    facts.identity.build_id_size != link->build_id_size ||
	    memcmp(facts.identity.build_id, link->build_id, link->build_id_size) != 0)
		return false;
	file->alt_size = (uint64_t)st.st_size;
	file->alt_fd = TAKE_FD(fd);
	return true;
}

void desk_find_alt(struct desk *desk, struct desk_file *file)
{
	bool has_debug = file->debug_fd >= 0;
	struct parse_facts facts;
	char candidate[PATH_MAX];

	file->alt_fd = -1;
	if (!read_head(desk, file, has_debug ? file->debug_fd : file->fd,
		       has_debug ? file->debug_size : file->size, &facts) ||
	    !facts.alt_link.build_id_size)
		return;
	for (size_t i = 0; i < DEBUG_ALT_CANDIDATES; i++) {
		if (debug_alt_candidate(&facts.alt_link, NULL, i, candidate) &&
		    try_alt(desk, file, &facts.alt_link, candidate))
			return;
	}
	fpl_log(FPL_LOG_DEBUG, "%s: the supplement of its debug file is not there: %s", file->path,
		facts.alt_link.name);
}

static int take_names(struct answer_reader *reader, const struct question *question, void *ret,
		      struct fpl_err *err)
{
	return answer_names(reader, question->vaddrs, question->nr_vaddrs, ret, err);
}

int desk_names(struct desk *desk, const struct desk_file *file, const uint64_t *vaddrs, size_t nr,
	       struct symbol_places *ret, struct fpl_err *err)
{
	const struct question question = {
		.file = file,
		.op = PARSE_NAMES,
		.flags = desk->mangled ? PARSE_MANGLED : 0,
		.vaddrs = vaddrs,
		.nr_vaddrs = nr,
		.take = take_names,
		.ret = ret,
	};

	return ask(desk, &question, err);
}

void desk_mangled(struct desk *desk)
{
	desk->mangled = true;
}

void desk_keep(struct desk *desk)
{
	desk->keeps = true;
}

static int take_lines(struct answer_reader *reader, const struct question *question, void *ret,
		      struct fpl_err *err)
{
	return answer_lines(reader, question->nr_vaddrs, ret, err);
}

int desk_lines(struct desk *desk, const struct desk_file *file, const uint64_t *vaddrs, size_t nr,
	       struct symbol_chains *ret, struct fpl_err *err)
{
	const struct question question = {
		.file = file,
		.op = PARSE_LINES,
		.flags = desk->mangled ? PARSE_MANGLED : 0,
		.vaddrs = vaddrs,
		.nr_vaddrs = nr,
		.take = take_lines,
		.ret = ret,
	};

	return ask(desk, &question, err);
}

struct function_answer {
	struct vaddr_range *ranges;
	size_t nr;
};

static int take_functions(struct answer_reader *reader, const struct question *question, void *ret,
			  struct fpl_err *err)
{
	struct function_answer *answer = ret;

	(void)question;
	return answer_functions(reader, &answer->ranges, &answer->nr, err);
}

int desk_functions(struct desk *desk, const struct desk_file *file, struct vaddr_range **ret,
		   size_t *ret_nr, struct fpl_err *err)
{
	struct function_answer answer;
	const struct question question = {
		.file = file, .op = PARSE_FUNCTIONS, .take = take_functions, .ret = &answer
	};
	int code = ask(desk, &question, err);

	if (code)
		return code;
	*ret = answer.ranges;
	*ret_nr = answer.nr;
	return 0;
}

static int take_frames(struct answer_reader *reader, const struct question *question, void *ret,
		       struct fpl_err *err)
{
	return answer_frames(reader, question->nr_vaddrs, ret, err);
}

int desk_frames(struct desk *desk, const struct desk_file *file, const uint64_t *vaddrs, size_t nr,
		uint8_t *ret, struct fpl_err *err)
{
	const struct question question = {
		.file = file,
		.op = PARSE_FRAMES,
		.vaddrs = vaddrs,
		.nr_vaddrs = nr,
		.take = take_frames,
		.ret = ret,
	};

	return ask(desk, &question, err);
}

struct code_answer {
	struct code_table *table; /* borrowed */
	struct code_file_result *result;
};

static int take_code(struct answer_reader *reader, const struct question *question, void *ret,
		     struct fpl_err *err)
{
	const struct code_answer *answer = ret;
	size_t max_bytes = answer->table->max_bytes;

	/* what a worker left half-done that was killed before this one was asked */
	code_table_fini(answer->table);
	code_table_init(answer->table, max_bytes);
	(void)question;
	return answer_code(reader, answer->table, answer->result, err);
}

static int ask_code(struct desk *desk, struct question *question, struct code_table *ret,
		    struct code_file_result *ret_result, struct fpl_err *err)
{
	struct code_answer answer = { ret, ret_result };

	if (ret->max_bytes > PARSE_CODE_MAX)
		ret->max_bytes = PARSE_CODE_MAX;
	question->code_bytes = ret->max_bytes;
	question->take = take_code;
	question->ret = &answer;
	return ask(desk, question, err);
}

int desk_perf_map(struct desk *desk, const struct desk_file *file, struct code_table *ret,
		  struct code_file_result *ret_result, struct fpl_err *err)
{
	struct question question = { .file = file, .op = PARSE_PERF_MAP };

	return ask_code(desk, &question, ret, ret_result, err);
}

int desk_jitdump(struct desk *desk, const struct desk_file *file, uint32_t own_pid,
		 struct code_table *ret, struct code_file_result *ret_result, struct fpl_err *err)
{
	struct question question = { .file = file, .op = PARSE_JITDUMP, .own_pid = own_pid };

	return ask_code(desk, &question, ret, ret_result, err);
}

static int take_examination(struct answer_reader *reader, const struct question *question,
			    void *ret, struct fpl_err *err)
{
	(void)question;
	return answer_examination(reader, ret, err);
}

int desk_examine(struct desk *desk, const struct desk_file *file, struct examination *ret,
		 struct fpl_err *err)
{
	const struct question question = {
		.file = file, .op = PARSE_EXAMINE, .take = take_examination, .ret = ret
	};

	return ask(desk, &question, err);
}
