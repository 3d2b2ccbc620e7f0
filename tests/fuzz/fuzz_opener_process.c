/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever is said to an opener, or to the process that makes openers: a profiler that was taken
 * over may say anything. Judged: each question gets one answer, with a descriptor where it is 0 and
 * without one else; that of a walk is a place, that of a file an envelope with this file in it,
 * open for reading; nothing is made, cut or written, and nothing but a regular file is opened; only
 * openers are ended; no descriptor is left.
 *
 * fork(2), kill(2) and waitpid(2) are the target's own: no process begins or ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/cursor.h"
#include "base/io.h"
#include "base/wire.h"
#include "obj/opener.h"
#include "obj/opener_process.c" /* the functions of both processes */
#include "tests/support/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
pid_t __wrap_fork(void);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
int __wrap_kill(pid_t pid, int number);

enum { TURNS_MAX = 32, FIRST_PID = 4000000, TEXT_SIZE = 4 };

/* Descriptors of a question. */
enum {
	WITH_NOTHING,
	WITH_FILE,
	WITH_FOLDER,
	WITH_FIFO,
	WITH_DEVICE,
	WITH_LINK,
	WITH_OPEN,
	NR_WITH
};

static struct {
	char folder[40], path[64];
	int fds[NR_WITH];
	int peer; /* of descriptor 0 */
} world = { .peer = -1 };

static struct {
	bool is_there, is_ended;
} openers[TURNS_MAX];
static size_t nr_openers;

static void remove_files(void)
{
	static const char *const names[] = { "file", "fifo", "link" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(world.path, sizeof(world.path), "%s/%s", world.folder, names[i]);
		unlink(world.path);
	}
	rmdir(world.folder);
}

static int place_of(const char *name, int flags)
{
	snprintf(world.path, sizeof(world.path), "%s/%s", world.folder, name);

	int fd = open(world.path, O_PATH | O_CLOEXEC | flags);

	REQUIRE(fd >= 0);
	return fd;
}

static void make_world(void)
{
	snprintf(world.folder, sizeof(world.folder), "/tmp/fuzz_opener.XXXXXX");
	REQUIRE(mkdtemp(world.folder));
	atexit(remove_files);
	snprintf(world.path, sizeof(world.path), "%s/file", world.folder);
	world.fds[WITH_OPEN] = open(world.path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	REQUIRE(!io_write(world.fds[WITH_OPEN], "text", TEXT_SIZE));
	snprintf(world.path, sizeof(world.path), "%s/fifo", world.folder);
	REQUIRE(!mkfifo(world.path, 0600));
	snprintf(world.path, sizeof(world.path), "%s/link", world.folder);
	REQUIRE(!symlink("file", world.path));
	world.fds[WITH_NOTHING] = -1;
	world.fds[WITH_FILE] = place_of("file", 0);
	world.fds[WITH_FOLDER] = place_of(".", 0);
	world.fds[WITH_FIFO] = place_of("fifo", 0);
	world.fds[WITH_LINK] = place_of("link", O_NOFOLLOW);
	world.fds[WITH_DEVICE] = open("/dev/null", O_PATH | O_CLOEXEC);
	/* a path that names nothing from here on begins in the folder */
	REQUIRE(!chdir(world.folder));
}

/* No file was written or made. */
static void check_world(void)
{
	struct stat st;
	char text[TEXT_SIZE];

	REQUIRE(!fstat(world.fds[WITH_OPEN], &st) && st.st_size == TEXT_SIZE);
	REQUIRE(pread(world.fds[WITH_OPEN], text, sizeof(text), 0) == TEXT_SIZE);
	REQUIRE(!memcmp(text, "text", TEXT_SIZE));
	REQUIRE(!fstat(world.fds[WITH_OPEN], &st) && st.st_nlink == 1);
}

/* Descriptor 0 and its peer, anew for each input. */
static void connect_to_it(void)
{
	int socks[2];

	REQUIRE(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks));
	REQUIRE(dup2(socks[0], STDIN_FILENO) == STDIN_FILENO);
	close(socks[0]);
	world.peer = socks[1];
}

pid_t __wrap_fork(void)
{
	REQUIRE(nr_openers < TURNS_MAX);
	openers[nr_openers].is_there = true;
	openers[nr_openers].is_ended = false;
	return FIRST_PID + (pid_t)nr_openers++;
}

static bool is_opener(pid_t pid)
{
	return pid >= FIRST_PID && pid < FIRST_PID + (pid_t)nr_openers &&
	       openers[pid - FIRST_PID].is_there;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	(void)status;
	REQUIRE(options & WNOHANG);
	for (size_t i = 0; pid == -1 && i < nr_openers; i++) {
		if (openers[i].is_there && openers[i].is_ended) {
			openers[i].is_there = false;
			return FIRST_PID + (pid_t)i;
		}
	}
	if (pid == -1 || !is_opener(pid)) {
		errno = ECHILD;
		return -1;
	}
	if (!openers[pid - FIRST_PID].is_ended)
		return 0;
	openers[pid - FIRST_PID].is_there = false;
	return pid;
}

int __wrap_kill(pid_t pid, int number)
{
	REQUIRE(number == SIGKILL && is_opener(pid));
	openers[pid - FIRST_PID].is_ended = true;
	return 0;
}

static void check_envelope(int sock)
{
	struct stat st, own;
	int file = -1;

	REQUIRE(!envelope_open(sock, &file));
	REQUIRE(!fstat(file, &st) && !fstat(world.fds[WITH_OPEN], &own));
	REQUIRE(st.st_ino == own.st_ino && st.st_dev == own.st_dev);
	REQUIRE((fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY);
	close(file);
}

static void check_answer(const struct opener_request *request)
{
	struct pollfd poll_fd = { .fd = world.peer, .events = POLLIN };
	int fds[WIRE_FDS_MAX];
	int32_t code;

	REQUIRE(!wire_recv_fds(world.peer, &code, sizeof(code), fds));
	REQUIRE(poll(&poll_fd, 1, 0) == 0);
	REQUIRE(code <= 0 && (fds[0] >= 0) == !code && fds[1] < 0 && fds[2] < 0);
	if (code)
		return;
	if (request->op == OPENER_OPEN)
		check_envelope(fds[0]);
	else
		REQUIRE(fcntl(fds[0], F_GETFL) & O_PATH);
	close(fds[0]);
}

/* A descriptor of the opener's own, which it closes. */
static int given(unsigned int with)
{
	int fd = world.fds[with % NR_WITH];

	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

static void ask(struct cursor *script)
{
	struct opener_request request = { .op = cursor_u8(script) };
	int fd = given(cursor_u8(script));
	size_t size, left;

	request.flags = (int32_t)cursor_u32(script);
	request.resolve = cursor_u8(script);
	request.resolve |= (uint64_t)cursor_u8(script) << 32;
	size = cursor_u8(script);
	left = cursor_left(script);
	size = size < left ? size : left;
	/* without a NUL, too */
	memset(request.path, 'x', sizeof(request.path));
	memcpy(request.path, cursor_skip(script, size), size);
	if (size)
		request.path[size] = '\0';
	REQUIRE(!answer(&request, fd));
	if (fd >= 0)
		close(fd);
	check_answer(&request);
}

/* A command is whole, or the connection ends with it. */
static void command(struct cursor *script, unsigned int *nr_begun)
{
	struct opener_command order = { .order = cursor_u8(script) };
	int fd = given(cursor_u8(script));

	order.pid = (int32_t)cursor_u32(script);
	if (order.pid % 3 == 0)
		order.pid = FIRST_PID + order.pid % TURNS_MAX;
	*nr_begun += order.order == OPENER_BEGIN;
	REQUIRE(!wire_send_fds(world.peer, &order, sizeof(order), &fd, fd >= 0));
	if (fd >= 0)
		close(fd);
}

static void order_openers(struct cursor *script)
{
	unsigned int nr_begun = 0, nr_answers = 0;
	size_t rest;
	int32_t pid;

	nr_openers = 0;
	for (int i = 0; i < TURNS_MAX && cursor_left(script) >= 6; i++)
		command(script, &nr_begun);
	/* one that is cut short ends the conversation */
	rest = cursor_left(script) < 6 ? cursor_left(script) : 0;
	if (rest)
		REQUIRE(!wire_send(world.peer, cursor_skip(script, rest), rest));
	shutdown(world.peer, SHUT_WR);
	serve();
	while (recv(world.peer, &pid, sizeof(pid), MSG_DONTWAIT) == sizeof(pid)) {
		REQUIRE(pid < 0 || is_opener(pid) || pid - FIRST_PID < (int)nr_openers);
		nr_answers++;
	}
	REQUIRE(nr_answers == nr_begun);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cursor script = cursor_make(data, size);
	bool is_maker = cursor_u8(&script) & 1;

	if (!*world.folder)
		make_world();
	connect_to_it();

	int before = dup(world.peer);

	REQUIRE(before >= 0);
	close(before);
	if (is_maker)
		order_openers(&script);
	for (int i = 0; !is_maker && i < TURNS_MAX && cursor_left(&script) >= 9; i++)
		ask(&script);
	check_world();

	int after = dup(world.peer);

	REQUIRE(after == before);
	close(after);
	close(world.peer);
	return 0;
}
