/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A conversation with openers that lie. The input is a list of turns: what the profiler asks, and
 * what the opener says then, in messages with descriptors of any kind, after any of which it may be
 * silent or end. Judged: what is handed on is a place or an envelope, never an opened file; a
 * failure has a code below 0; a file system that does not answer is waited for no longer than it
 * may be, and all of them together, too; only openers are told to end; no descriptor is left.
 *
 * fork(2), waitpid(2), recv(2), poll(2) and the clock are the target's own: nothing waits.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cursor.h"
#include "base/io.h"
#include "base/log.h"
#include "base/wire.h"
#include "obj/opener.h"
#include "obj/opener_process.h"
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
pid_t __wrap_fork(void);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
int __wrap_socketpair(int domain, int type, int protocol, int socks[2]);
int __real_socketpair(int domain, int type, int protocol, int socks[2]);
ssize_t __wrap_recv(int sock, void *bytes, size_t size, int flags);
ssize_t __real_recv(int sock, void *bytes, size_t size, int flags);
int __wrap_poll(struct pollfd *fds, nfds_t nr, int timeout);
int __real_poll(struct pollfd *fds, nfds_t nr, int timeout);
uint64_t __wrap_clock_monotonic_ns(void);

enum { TURNS_MAX = 24, OPENERS_MAX = 64, MAKER_PID = 3999999, FIRST_PID = 4000000, PAUSE_MS = 10 };

/* The end of a message. */
enum { GOES_ON, IS_SILENT, ENDS, NR_ENDS };

/* Its content. */
enum { NOTHING, PLACE, OPEN_FILE, ENVELOPE, EMPTY_ENVELOPE, TWO, THREE, NR_KINDS };

/* Files whose file systems are asked. */
enum { FILE_TMP, FILE_PROC, FILE_MEMORY, NR_FILES };

static struct {
	struct cursor script;
	unsigned int nr_messages; /* left of this turn */
	int last[2];		  /* of the last socketpair(2) */
	int maker_client;	  /* the client's end of the control socket */
	int maker;		  /* owned: the other end */
	int pending;		  /* owned: the socket of an opener that is to begin; -1 */
	struct {
		int sock;   /* owned; -1: has ended */
		int client; /* the other end, as long as it is the last one of that number */
		bool was_ended;
	} openers[OPENERS_MAX];
	size_t nr_openers;
	uint64_t now_ns, waited_ns, nr_waits;
} liar;

static struct {
	char folder[40], file[64], link[64];
	int places[NR_FILES], open_file, folder_fd, memory;
} files;

static void remove_files(void)
{
	unlink(files.file);
	unlink(files.link);
	rmdir(files.folder);
}

static void make_files(void)
{
	char link[32];

	snprintf(files.folder, sizeof(files.folder), "/tmp/fuzz_opener.XXXXXX");
	REQUIRE(mkdtemp(files.folder));
	atexit(remove_files);
	snprintf(files.file, sizeof(files.file), "%s/file", files.folder);
	snprintf(files.link, sizeof(files.link), "%s/link", files.folder);
	files.open_file = open(files.file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	REQUIRE(!io_write(files.open_file, "text", 4) && !symlink("file", files.link));
	files.folder_fd = open(files.folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	files.memory = memfd_create("fuzz", MFD_CLOEXEC);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", files.memory);
	files.places[FILE_TMP] = open(files.file, O_PATH | O_CLOEXEC);
	files.places[FILE_PROC] = open("/proc/version", O_PATH | O_CLOEXEC);
	files.places[FILE_MEMORY] = open(link, O_PATH | O_CLOEXEC);
	for (size_t i = 0; i < NR_FILES; i++)
		REQUIRE(files.places[i] >= 0);
	fpl_log_set_level(FPL_LOG_ERROR);
}

uint64_t __wrap_clock_monotonic_ns(void)
{
	return liar.now_ns;
}

int __wrap_socketpair(int domain, int type, int protocol, int socks[2])
{
	int code = __real_socketpair(domain, type, protocol, socks);

	memcpy(liar.last, socks, sizeof(liar.last));
	return code;
}

/* The process that makes openers begins: its socket is the second one. */
pid_t __wrap_fork(void)
{
	liar.maker_client = liar.last[0];
	liar.maker = fcntl(liar.last[1], F_DUPFD_CLOEXEC, 3);
	REQUIRE(liar.maker >= 0);
	return MAKER_PID;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	(void)status, (void)options;
	REQUIRE(pid == MAKER_PID);
	return pid;
}

static void end_opener(size_t idx)
{
	if (liar.openers[idx].sock >= 0)
		close(liar.openers[idx].sock);
	liar.openers[idx].sock = -1;
}

/* Takes the commands that have come to the maker. Returns whether an opener is to begin. */
static bool take_commands(void)
{
	struct opener_command command;
	struct pollfd poll_fd = { .fd = liar.maker, .events = POLLIN };
	int fds[WIRE_FDS_MAX];

	while (__real_poll(&poll_fd, 1, 0) > 0) {
		if (wire_recv_fds(liar.maker, &command, sizeof(command), fds))
			return false;
		REQUIRE(fds[1] < 0 && fds[2] < 0);
		if (command.order == OPENER_BEGIN) {
			REQUIRE(fds[0] >= 0 && liar.pending < 0);
			liar.pending = fds[0];
			return true;
		}
		REQUIRE(command.order == OPENER_END && fds[0] < 0);

		size_t idx = (size_t)(command.pid - FIRST_PID);

		REQUIRE(idx < liar.nr_openers && !liar.openers[idx].was_ended);
		liar.openers[idx].was_ended = true;
		end_opener(idx);
	}
	return false;
}

/* Whoever reads the control socket has asked for an opener. */
ssize_t __wrap_recv(int sock, void *bytes, size_t size, int flags)
{
	if (sock == liar.maker_client && liar.maker >= 0 && take_commands()) {
		int32_t pid = FIRST_PID + (int32_t)liar.nr_openers;
		bool refuses = cursor_u8(&liar.script) % 16 == 15;

		if (refuses || liar.nr_openers == OPENERS_MAX) {
			pid = -EAGAIN;
			close(TAKE_FD(liar.pending));
		} else {
			liar.openers[liar.nr_openers].sock = TAKE_FD(liar.pending);
			liar.openers[liar.nr_openers].client = liar.last[0];
			liar.openers[liar.nr_openers++].was_ended = false;
		}
		REQUIRE(!wire_send(liar.maker, &pid, sizeof(pid)));
	}
	return __real_recv(sock, bytes, size, flags);
}

static int make_envelope(bool is_empty)
{
	int socks[2];

	REQUIRE(!__real_socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks));
	if (!is_empty)
		REQUIRE(!wire_send_fds(socks[0], "", 1, &files.open_file, 1));
	close(socks[0]);
	return socks[1];
}

/* Sends up to @size bytes, with descriptors as @kind has it. */
static void send_some(int sock, const void *bytes, size_t size, unsigned int kind)
{
	int fds[WIRE_FDS_MAX] = { -1, -1, -1 }, envelope = -1;
	size_t nr = kind == NOTHING ? 0 : kind == TWO ? 2 : kind == THREE ? 3 : 1;

	if (kind == ENVELOPE || kind == EMPTY_ENVELOPE)
		envelope = make_envelope(kind == EMPTY_ENVELOPE);
	for (size_t i = 0; i < nr; i++)
		fds[i] = envelope >= 0	     ? envelope
			 : kind == OPEN_FILE ? files.open_file
					     : files.places[0];
	if (size)
		(void)!wire_send_fds(sock, bytes, size, fds, nr);
	if (envelope >= 0)
		close(envelope);
}

/* The client's requests are well-formed. */
static void take_request(int sock)
{
	struct pollfd poll_fd = { .fd = sock, .events = POLLIN };
	struct opener_request request;
	int fds[WIRE_FDS_MAX];

	while (__real_poll(&poll_fd, 1, 0) > 0 && !(poll_fd.revents & POLLHUP)) {
		if (wire_recv_fds(sock, &request, sizeof(request), fds))
			return;
		REQUIRE(request.op <= OPENER_WALK_TRUSTED && fds[1] < 0 && fds[2] < 0);
		REQUIRE(memchr(request.path, 0, sizeof(request.path)));
		if (request.op == OPENER_OPEN)
			REQUIRE(fds[0] >= 0 && opener_holds_place(fds[0]));
		cleanup_fd(&fds[0]);
	}
}

/* The opener that is asked says something. Returns how that ends. */
static unsigned int speak(size_t idx)
{
	int sock = liar.openers[idx].sock;

	if (sock < 0)
		return ENDS;
	take_request(sock);
	if (!liar.nr_messages) {
		end_opener(idx);
		return ENDS;
	}
	liar.nr_messages--;

	unsigned int end = cursor_u8(&liar.script) % NR_ENDS;
	unsigned int kind = cursor_u8(&liar.script) % NR_KINDS;
	size_t size = cursor_u8(&liar.script) % 9, left = cursor_left(&liar.script);

	size = size < left ? size : left;
	send_some(sock, cursor_skip(&liar.script, size), size, kind);
	if (end == ENDS)
		end_opener(idx);
	return end;
}

/* The client waits for an opener, which acts now. */
int __wrap_poll(struct pollfd *fds, nfds_t nr, int timeout)
{
	uint64_t waits_ms = timeout > 0 ? (uint64_t)timeout : 0;
	unsigned int end = IS_SILENT;

	if (!nr || timeout != PAUSE_MS)
		return nr ? __real_poll(fds, nr, 0) : 0;
	for (size_t i = liar.nr_openers; i-- > 0;) {
		if (liar.openers[i].client == fds->fd) {
			end = speak(i);
			break;
		}
	}

	int ready = end == IS_SILENT ? 0 : __real_poll(fds, nr, 0);

	if (!ready) {
		liar.now_ns += waits_ms * 1000000;
		liar.waited_ns += waits_ms * 1000000;
		liar.nr_waits++;
	}
	return ready;
}

static void check_envelope(int sock)
{
	struct stat st;
	char byte;
	int file;

	REQUIRE(!fstat(sock, &st) && S_ISSOCK(st.st_mode));
	if (__real_recv(sock, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1 &&
	    !envelope_open(sock, &file))
		close(file);
	close(sock);
}

static int walk(struct opener *opener, unsigned int how, unsigned int flags)
{
	char text[256] = "";
	struct opener_path path = { .folder_fd = flags & 1 ? files.folder_fd : -1,
				    .pid = flags & 2 ? getpid() : 0,
				    .flags = flags & 4 ? O_NOFOLLOW : 0,
				    .is_trusted = flags & 8 };
	size_t size = how, left = cursor_left(&liar.script);
	int place = -1, code;

	if (size < 3) {
		path.path = size == 0 ? files.link : size == 1 ? "link" : "/proc/self/exe";
	} else {
		size = size < left ? size : left;
		size = size < sizeof(text) ? size : sizeof(text) - 1;
		memcpy(text, cursor_skip(&liar.script, size), size);
		path.path = text;
	}
	code = opener_walk(opener, &path, NULL, &place);
	if (!code) {
		REQUIRE(opener_holds_place(place));
		close(place);
	}
	return code;
}

static int take_turn(struct opener *opener)
{
	unsigned int op = cursor_u8(&liar.script), how = cursor_u8(&liar.script);
	unsigned int flags = cursor_u8(&liar.script);
	struct stat st;
	int sock = -1, code = 0;

	liar.nr_messages = flags >> 4;
	switch (op % 4) {
	case 0:
		code = opener_envelope(opener, files.places[how % NR_FILES], NULL, &sock);
		if (!code)
			check_envelope(sock);
		break;
	case 1:
		REQUIRE(!fstat(files.places[how % NR_FILES], &st));
		liar.now_ns += flags * NS_PER_MS;
		opener_waited(opener, st.st_dev, flags * NS_PER_MS, op & 4);
		break;
	case 2:
		liar.now_ns += how * (NS_PER_S / 8);
		break;
	default:
		code = walk(opener, how, flags);
	}
	return code;
}

static void converse(struct opener *opener)
{
	uint64_t began_ns = liar.now_ns;

	for (int i = 0; i < TURNS_MAX && !liar.script.bad && cursor_left(&liar.script); i++) {
		uint64_t waited_ns = liar.waited_ns;

		REQUIRE(take_turn(opener) <= 0);
		REQUIRE(liar.waited_ns - waited_ns <=
			2 * (OPENER_FIRST_MS + 2 * PAUSE_MS) * NS_PER_MS);
	}
	/* what is short costs nothing, what is long is forgotten at a quarter of the speed of time
	 */
	REQUIRE(liar.waited_ns <= OPENER_ALL_MS * NS_PER_MS + (liar.now_ns - began_ns) / 4 +
					  TURNS_MAX * (100 + 2 * PAUSE_MS) * NS_PER_MS);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct opener *opener;

	if (!*files.folder)
		make_files();

	int before = dup(0);

	REQUIRE(before >= 0);
	close(before);
	memset(&liar, 0, sizeof(liar));
	liar.script = cursor_make(data, size);
	liar.maker = liar.pending = liar.maker_client = -1;
	liar.now_ns = 1000 * NS_PER_S;
	REQUIRE(!opener_create(true, &opener, NULL));
	converse(opener);
	(void)take_commands();
	opener_destroy(opener);
	for (size_t i = 0; i < liar.nr_openers; i++)
		end_opener(i);
	cleanup_fd(&liar.pending);
	close(liar.maker);

	int after = dup(0);

	REQUIRE(after == before);
	close(after);
	return 0;
}
