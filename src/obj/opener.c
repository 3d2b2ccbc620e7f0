/* SPDX-License-Identifier: Apache-2.0 */
#include "obj/opener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/served.h"
#include "base/vector.h"
#include "base/wire.h"
#include "obj/file_stat.h"
#include "obj/mounts.h"
#include "obj/opener_process.h"
#include "obj/regular_file.h"
#include "obj/trusted_path.h"

#define FILE_SYSTEMS_MAX \
	256u /* limit of served file systems; above it, those not asked lately are dropped */
#define LIVE_MAX	 16u /* limit of openers; above it, the one not asked lately is ended */
#define SILENCE_NS	 (600 * NS_PER_S) /* at least, of one that has not answered */
#define PAUSE_MS	 10
#define SLOW_NS		 (100 * NS_PER_MS) /* what takes longer counts as waiting */
#define FOREIGN_TEXT_MAX (256u << 10) /* limit of bytes of a target namespace's list of mounts */
#define NAME_SIZE	 192u
#define LIST_READ_BYTES	 16384u

/* Time spent waiting: forgotten at a quarter of the speed of time. */
struct account {
	uint64_t ns;
	uint64_t last_ns; /* CLOCK_MONOTONIC */
};

/* A file system served by a process or another machine. */
struct file_system {
	uint64_t dev;
	char name[NAME_SIZE]; /* for messages: type, place, number */
	int sock;	      /* owned: of its opener, of a silent one the last; -1: none */
	pid_t pid;
	bool is_busy; /* a thread talks with its opener */
	bool is_silent, has_answered;
	struct account waited; /* for slow answers, and for none */
	uint64_t last_ns;      /* CLOCK_MONOTONIC, when it was asked last, or became silent */
};

struct opener {
	pid_t pid;		  /* of the process that makes openers */
	int root_fd;		  /* owned: "/", where it is local; -1 */
	uint64_t root_mount;	  /* FILE_NO_MOUNT: not local */
	uint64_t memory_mount;	  /* of memfd_create(2); FILE_NO_MOUNT: not known */
	pthread_mutex_t lock;	  /* of all below */
	int control;		  /* owned */
	int mounts_fd;		  /* owned: signals changes of our mounts; -1: not read yet */
	struct mount_list mounts; /* of our namespace */
	struct file_system *systems[FILE_SYSTEMS_MAX]; /* owned [nr_systems] */
	size_t nr_systems;
	size_t nr_silent;
	struct account waited; /* for all of them */
};

/* Read a whole file of /proc, up to @max bytes. NULL: out of memory, or unreadable. */
static char *read_list(int fd, size_t max)
{
	VECTOR(char) text = { 0 };
	ssize_t nr;

	do {
		nr = vector_reserve(&text, text.nr + LIST_READ_BYTES + 1)
			     ? -1
			     : read(fd, text.list + text.nr, LIST_READ_BYTES);
		if (nr < 0) {
			vector_fini(&text);
			return NULL;
		}
		text.nr += (size_t)nr;
	} while (nr && text.nr < max);
	text.list[text.nr] = '\0';
	return text.list;
}

/* Has the list of our mounts changed since it was read? */
static bool mounts_changed(const struct opener *opener)
{
	struct pollfd poll_fd = { .fd = opener->mounts_fd, .events = POLLPRI };

	return opener->mounts_fd < 0 || poll(&poll_fd, 1, 0) != 0;
}

/* Under the lock. Without a list no file system is local. */
static void refresh_mounts(struct opener *opener)
{
	char *text;

	if (!mounts_changed(opener))
		return;
	mount_list_fini(&opener->mounts);
	if (opener->mounts_fd < 0)
		opener->mounts_fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	if (opener->mounts_fd < 0 || lseek(opener->mounts_fd, 0, SEEK_SET) < 0)
		return;
	text = read_list(opener->mounts_fd, MOUNTS_TEXT_MAX);
	if (text && mount_list_parse(text, &opener->mounts))
		opener->mounts = (struct mount_list){ 0 };
}

static int read_foreign(pid_t pid, struct mount_list *ret)
{
	char path[32], *text;

	snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);

	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	text = read_list(fd, FOREIGN_TEXT_MAX);
	return text ? mount_list_parse(text, ret) : -ENOMEM;
}

/*
 * May a silent file system be asked again? Its opener ends when the kernel's wait does: because it
 * answered after all, or because it is gone, and its number may be another's by now. So no more
 * than one opener ever waits for it.
 */
static bool silence_is_over(const struct file_system *system)
{
	struct pollfd end = { .fd = system->sock };

	return clock_monotonic_ns() > system->last_ns + SILENCE_NS &&
	       (system->sock < 0 || (poll(&end, 1, 0) > 0 && end.revents & POLLHUP));
}

/* Under the lock: take it for one that was never asked. */
static void forget(struct opener *opener, struct file_system *system)
{
	cleanup_fd(&system->sock);
	if (system->is_silent)
		opener->nr_silent--;
	*system = (struct file_system){ .dev = system->dev, .sock = -1 };
	snprintf(system->name, sizeof(system->name), "%u:%u", major(system->dev),
		 minor(system->dev));
}

static bool asked_before(const struct file_system *a, const struct file_system *b)
{
	return !b || a->last_ns < b->last_ns;
}

/* Under the lock. NULL: there are too many already, and all are silent or busy. */
static struct file_system *system_of(struct opener *opener, uint64_t dev)
{
	struct file_system *oldest = NULL, *system;

	for (size_t i = 0; i < opener->nr_systems; i++) {
		bool may_go;

		system = opener->systems[i];
		may_go = !system->is_busy && (!system->is_silent || silence_is_over(system));
		if (system->dev == dev) {
			if (system->is_silent && may_go)
				forget(opener, system);
			return system;
		}
		if (may_go && asked_before(system, oldest))
			oldest = system;
	}
	if (opener->nr_systems < FILE_SYSTEMS_MAX) {
		system = calloc(1, sizeof(*system));
		if (!system)
			return NULL;
		system->sock = -1;
		opener->systems[opener->nr_systems++] = system;
	} else if (oldest) {
		system = oldest;
	} else {
		return NULL;
	}
	system->dev = dev;
	forget(opener, system);
	return system;
}

/* Give the file system of @dev the name of its mount. */
static void name_system(struct opener *opener, uint64_t dev, const struct mount *mount)
{
	struct file_system *system = system_of(opener, dev);

	if (system)
		snprintf(system->name, sizeof(system->name), "%.32s at %.128s (%u:%u)", mount->type,
			 mount->point, major(dev), minor(dev));
}

/* Is the file system of mount number @id local? */
static bool is_local(struct opener *opener, pid_t pid, uint64_t id, uint64_t dev)
{
	struct mount_list foreign = { 0 };
	const struct mount *mount;
	bool local;

	if (id == FILE_NO_MOUNT)
		return false;
	if (id == opener->root_mount || id == opener->memory_mount)
		return true;
	pthread_mutex_lock(&opener->lock);
	refresh_mounts(opener);
	mount = mount_list_by_id(&opener->mounts, id);
	if (!mount && pid > 0 && !read_foreign(pid, &foreign))
		mount = mount_list_by_id(&foreign, id);
	local = mount && mount_is_local(mount, &opener->mounts);
	if (mount && !local)
		name_system(opener, dev, mount);
	pthread_mutex_unlock(&opener->lock);
	mount_list_fini(&foreign);
	return local;
}

/* While the root is open it stays at its place, and its number is not reused. */
static void find_root(struct opener *opener)
{
	struct stat st;
	uint64_t id;

	opener->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (opener->root_fd >= 0 && !file_stat(opener->root_fd, &st, &id) &&
	    is_local(opener, 0, id, st.st_dev))
		opener->root_mount = id;
}

/* Named memory (memfd) is in a mount that no list contains. */
static void find_memory(struct opener *opener)
{
	AUTO_FD int fd = memfd_create("fpless", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0 || file_stat(fd, &st, &opener->memory_mount))
		opener->memory_mount = FILE_NO_MOUNT;
}

/* One without processes; NULL without memory. */
static struct opener *new_opener(void)
{
	struct opener *opener = calloc(1, sizeof(*opener));

	if (!opener)
		return NULL;
	pthread_mutex_init(&opener->lock, NULL);
	opener->control = opener->mounts_fd = opener->root_fd = -1;
	opener->root_mount = opener->memory_mount = FILE_NO_MOUNT;
	return opener;
}

int opener_create(bool has_rights, struct opener **ret, struct fpl_err *err)
{
	struct opener *opener = new_opener();
	int socks[2] = { -1, -1 };

	if (!opener)
		return fpl_fail(err, -ENOMEM, "opener: out of memory");

	int code = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0 ? -errno : 0;

	opener->pid = code ? -1 : fork();
	if (opener->pid == 0)
		opener_process_main(socks[1], has_rights);
	if (!code && opener->pid < 0)
		code = -errno;
	cleanup_fd(&socks[1]);
	opener->control = socks[0];
	if (code) {
		opener_destroy(opener);
		return fpl_fail(err, code, "opener: %s", strerror(-code));
	}
	find_root(opener);
	find_memory(opener);
	*ret = opener;
	return 0;
}

void opener_destroy(struct opener *opener)
{
	if (!opener)
		return;
	cleanup_fd(&opener->control);
	if (opener->pid > 0)
		served_await_end(opener->pid);
	for (size_t i = 0; i < opener->nr_systems; i++) {
		cleanup_fd(&opener->systems[i]->sock);
		free(opener->systems[i]);
	}
	cleanup_fd(&opener->mounts_fd);
	cleanup_fd(&opener->root_fd);
	mount_list_fini(&opener->mounts);
	pthread_mutex_destroy(&opener->lock);
	free(opener);
}

bool opener_holds_place(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && flags & O_PATH;
}

int opener_take(struct opener *opener, pid_t pid, int path_fd, int *ret_fd, struct stat *ret_stat)
{
	uint64_t mount;
	int code;

	if (!opener)
		return regular_file_reopen(path_fd, ret_fd, ret_stat);
	code = file_stat(path_fd, ret_stat, &mount);
	if (code)
		return code;
	if (!S_ISREG(ret_stat->st_mode))
		return -ENOEXEC;
	if (is_local(opener, pid, mount, ret_stat->st_dev))
		return regular_file_reopen(path_fd, ret_fd, ret_stat);
	*ret_fd = fcntl(path_fd, F_DUPFD_CLOEXEC, 0);
	return *ret_fd < 0 ? -errno : 0;
}

static uint64_t account_level(const struct account *account)
{
	uint64_t forgotten = (clock_monotonic_ns() - account->last_ns) / 4;

	return account->ns > forgotten ? account->ns - forgotten : 0;
}

static void account_add(struct account *account, uint64_t ns)
{
	account->ns = account_level(account) + ns;
	account->last_ns = clock_monotonic_ns();
}

static uint64_t left_of(uint64_t most_ms, const struct account *account)
{
	uint64_t level_ns = account_level(account), most_ns = most_ms * NS_PER_MS;

	return level_ns < most_ns ? most_ns - level_ns : 0;
}

/* Under the lock: time that it may be waited for at this moment. */
static uint64_t patience_ns(const struct opener *opener, const struct file_system *system)
{
	uint64_t left_ns = left_of(OPENER_ALL_MS, &opener->waited);
	uint64_t most_ns = left_of(OPENER_FIRST_MS, &system->waited);
	uint64_t next_ns = NS_PER_MS * (system->has_answered ? OPENER_KNOWN_MS : OPENER_NEXT_MS);

	if (system->is_silent)
		return 0;
	if (opener->nr_silent && next_ns < most_ns)
		most_ns = next_ns;
	return left_ns < most_ns ? left_ns : most_ns;
}

/* Under the lock: its opener is ended, and not waited for. Its socket tells when it has ended. */
static void leave(struct opener *opener, const struct file_system *system)
{
	const struct opener_command end = { .order = OPENER_END, .pid = system->pid };

	if (system->sock < 0)
		return;
	if (wire_send(opener->control, &end, sizeof(end)))
		fpl_log(FPL_LOG_DEBUG, "opener: has gone");
}

/* Under the lock. */
static void note_wait(struct opener *opener, struct file_system *system, uint64_t ns, bool answered)
{
	if (answered)
		system->has_answered = true;
	if (system->is_silent || (answered && ns < SLOW_NS))
		return;
	account_add(&system->waited, ns);
	account_add(&opener->waited, ns);
	if (answered && left_of(OPENER_FIRST_MS, &system->waited))
		return;
	system->is_silent = true;
	system->last_ns = clock_monotonic_ns();
	opener->nr_silent++;
	fpl_log(FPL_LOG_WARN, "file system %s %s for %.1f s: its files are left alone for 10 min",
		system->name, answered ? "was waited for" : "did not answer",
		(double)system->waited.ns / NS_PER_S);
	leave(opener, system);
}

uint64_t opener_patience_ns(struct opener *opener, uint64_t dev)
{
	const struct file_system *system;
	uint64_t ns;

	if (!opener)
		return UINT64_MAX;
	pthread_mutex_lock(&opener->lock);
	system = system_of(opener, dev);
	ns = system ? patience_ns(opener, system) : 0;
	pthread_mutex_unlock(&opener->lock);
	return ns;
}

void opener_waited(struct opener *opener, uint64_t dev, uint64_t ns, bool has_answered)
{
	struct file_system *system;

	if (!opener)
		return;
	pthread_mutex_lock(&opener->lock);
	system = system_of(opener, dev);
	if (system)
		note_wait(opener, system, ns, has_answered);
	pthread_mutex_unlock(&opener->lock);
}

/* Under the lock: one opener more may live. It ends when its socket does. */
static void make_room(struct opener *opener)
{
	struct file_system *oldest = NULL;
	size_t nr_live = 0;

	for (size_t i = 0; i < opener->nr_systems; i++) {
		struct file_system *system = opener->systems[i];

		if (system->sock < 0 || system->is_silent)
			continue;
		nr_live++;
		if (!system->is_busy && asked_before(system, oldest))
			oldest = system;
	}
	if (nr_live >= LIVE_MAX && oldest)
		cleanup_fd(&oldest->sock);
}

/* Under the lock: an opener for @system. */
static int begin(struct opener *opener, struct file_system *system)
{
	const struct opener_command command = { .order = OPENER_BEGIN };
	int socks[2];
	int32_t pid;

	if (system->sock >= 0)
		return 0;
	make_room(opener);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		return -errno;
	/* this end is waited for by poll(2) alone */
	fcntl(socks[0], F_SETFL, O_NONBLOCK);

	int code = wire_send_fds(opener->control, &command, sizeof(command), &socks[1], 1);

	/* that process is never long over a fork */
	if (!code)
		code = wire_recv(opener->control, &pid, sizeof(pid));
	if (!code && pid < 0)
		code = pid;
	close(socks[1]);
	if (code) {
		close(socks[0]);
		return code;
	}
	system->sock = socks[0];
	system->pid = pid;
	return 0;
}

/* Wait for the answer on @sock. Errors: -ETIMEDOUT. */
static int await(int sock, uint64_t patience_ns, const struct opener_wait *wait)
{
	struct pollfd poll_fd = { .fd = sock, .events = POLLIN };
	uint64_t until_ns = clock_monotonic_ns() + patience_ns;

	for (;;) {
		if (poll(&poll_fd, 1, PAUSE_MS) > 0)
			return 0;
		if (wait && wait->pause)
			wait->pause(wait->ctx);
		if (clock_monotonic_ns() > until_ns)
			return poll(&poll_fd, 1, 0) > 0 ? 0 : -ETIMEDOUT;
	}
}

/* A place where one was asked for, an envelope where a file was. */
static bool is_what_was_asked(const struct opener_request *request, int fd)
{
	struct stat st;

	if (request->op != OPENER_OPEN)
		return opener_holds_place(fd);
	return !file_stat(fd, &st, NULL) && S_ISSOCK(st.st_mode);
}

/* Errors: -EBADMSG it makes no sense, or comes in parts, which is not waited for. */
static int take_answer(int sock, const struct opener_request *request, int *ret_fd)
{
	int fds[WIRE_FDS_MAX];
	int32_t answer;
	int code = wire_recv_fds(sock, &answer, sizeof(answer), fds);

	for (size_t i = 1; i < WIRE_FDS_MAX; i++)
		cleanup_fd(&fds[i]);
	if (!code)
		code = answer > 0 ? -EBADMSG : answer;
	else if (code == -EAGAIN)
		code = -EBADMSG;
	if (!code && fds[0] < 0)
		code = -EMFILE;
	if (!code && !is_what_was_asked(request, fds[0]))
		code = -EBADMSG;
	if (code)
		cleanup_fd(&fds[0]);
	else
		*ret_fd = fds[0];
	return code;
}

/* Wait until no other thread talks with the opener of @dev. Releases the lock meanwhile. */
static struct file_system *claim(struct opener *opener, uint64_t dev,
				 const struct opener_wait *wait)
{
	struct file_system *system;

	while ((system = system_of(opener, dev)) && system->is_busy) {
		pthread_mutex_unlock(&opener->lock);
		poll(NULL, 0, 1);
		if (wait && wait->pause)
			wait->pause(wait->ctx);
		pthread_mutex_lock(&opener->lock);
	}
	return system;
}

/* Send one request to the opener of @dev, with descriptor @fd. */
static int ask(struct opener *opener, uint64_t dev, const struct opener_request *request, int fd,
	       const struct opener_wait *wait, int *ret_fd)
{
	struct file_system *system;
	uint64_t most_ns, began_ns;
	int code;

	pthread_mutex_lock(&opener->lock);
	system = claim(opener, dev, wait);
	most_ns = system ? patience_ns(opener, system) : 0;
	code = most_ns ? begin(opener, system) : -ETIMEDOUT;
	if (code) {
		pthread_mutex_unlock(&opener->lock);
		return code;
	}
	system->is_busy = true;
	pthread_mutex_unlock(&opener->lock);
	began_ns = clock_monotonic_ns();
	code = wire_send_fds(system->sock, request, sizeof(*request), &fd, fd >= 0);
	if (!code)
		code = await(system->sock, most_ns, wait);

	bool answered = code != -ETIMEDOUT;

	if (!code)
		code = take_answer(system->sock, request, ret_fd);
	pthread_mutex_lock(&opener->lock);
	system->is_busy = false;
	system->last_ns = clock_monotonic_ns();
	note_wait(opener, system, system->last_ns - began_ns, answered);
	if (!system->is_silent && (code == -EPIPE || code == -EBADMSG)) {
		/* the opener was ended, or makes no sense */
		leave(opener, system);
		cleanup_fd(&system->sock);
	}
	pthread_mutex_unlock(&opener->lock);
	return code;
}

int opener_envelope(struct opener *opener, int path_fd, const struct opener_wait *wait,
		    int *ret_sock)
{
	const struct opener_request request = { .op = OPENER_OPEN };
	struct stat st;
	int code = file_stat(path_fd, &st, NULL);

	if (code)
		return code;
	if (!opener)
		return -EPIPE;
	code = ask(opener, st.st_dev, &request, path_fd, wait, ret_sock);
	/* an opener that has ended since the last request is replaced */
	return code == -EPIPE ? ask(opener, st.st_dev, &request, path_fd, wait, ret_sock) : code;
}

static int open_path(int folder, const char *path, const struct opener_path *how_to,
		     uint64_t resolve)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC, .resolve = resolve };
	int fd;

	if (!how_to->is_trusted) {
		how.flags |= (unsigned int)how_to->flags;
		how.resolve |= how_to->resolve;
	}
	fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
	return fd < 0 ? -errno : fd;
}

/* Does the walk leave its file system, or need a server's answer to go on? */
static bool leads_away(int code)
{
	/* -EPERM: from a system call filter that cannot inspect the arguments */
	return code == -EXDEV || code == -ELOOP || code == -EAGAIN || code == -EINVAL ||
	       code == -EPERM;
}

static bool begins_locally(struct opener *opener, const struct opener_path *path)
{
	struct stat st;
	uint64_t mount;

	if (path->folder_fd < 0)
		return opener->root_mount != FILE_NO_MOUNT && path->path[0] == '/';
	return !file_stat(path->folder_fd, &st, &mount) &&
	       is_local(opener, path->pid, mount, st.st_dev);
}

int opener_walk_here(struct opener *opener, const struct opener_path *path, int *ret_fd)
{
	bool is_ours = path->folder_fd < 0;
	int folder = is_ours ? AT_FDCWD : path->folder_fd, fd;
	const char *below = path->path;

	if (begins_locally(opener, path)) {
		if (is_ours) {
			folder = opener->root_fd;
			below += strspn(below, "/");
		}
		fd = open_path(folder, *below ? below : ".", path,
			       RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
		if (!leads_away(fd)) {
			*ret_fd = fd;
			return fd < 0 ? fd : 0;
		}
	}
	fd = open_path(is_ours ? AT_FDCWD : folder, path->path, path,
		       RESOLVE_CACHED | RESOLVE_NO_SYMLINKS);
	if (leads_away(fd))
		return -EXDEV;
	*ret_fd = fd;
	return fd < 0 ? fd : 0;
}

bool opener_path_is_local(const char *path)
{
	struct opener *opener = new_opener();
	struct stat st;
	uint64_t id;
	bool local;

	if (!opener)
		return false;

	AUTO_FD int fd =
		open_path(AT_FDCWD, path, &(struct opener_path){ .path = path }, RESOLVE_CACHED);

	local = fd >= 0 ? !file_stat(fd, &st, &id) && is_local(opener, 0, id, st.st_dev)
			: fd == -ENOENT || fd == -ENOTDIR || fd == -EACCES;
	opener_destroy(opener);
	return local;
}

/* The file system that @path leads to, as far as its text says; 0: a local one. */
static uint64_t device_of(struct opener *opener, const struct opener_path *path)
{
	struct mount_list foreign = { 0 };
	const struct mount *mount = NULL;
	struct stat st;
	uint64_t dev = 0, id;

	if (path->folder_fd >= 0 && !file_stat(path->folder_fd, &st, &id) &&
	    !is_local(opener, path->pid, id, st.st_dev))
		return st.st_dev;
	pthread_mutex_lock(&opener->lock);
	refresh_mounts(opener);
	if (path->folder_fd < 0)
		mount = mount_list_by_path(&opener->mounts, path->path);
	else if (path->pid > 0 && !read_foreign(path->pid, &foreign))
		mount = mount_list_by_path(&foreign, path->path);
	if (mount && !mount_is_local(mount, &opener->mounts)) {
		dev = makedev(mount->dev_major, mount->dev_minor);
		name_system(opener, dev, mount);
	}
	pthread_mutex_unlock(&opener->lock);
	mount_list_fini(&foreign);
	return dev;
}

static int walk_directly(const struct opener_path *path, int *ret_fd)
{
	int fd;

	if (path->is_trusted)
		return trusted_path_open(path->path, geteuid(), ret_fd);
	fd = open_path(path->folder_fd < 0 ? AT_FDCWD : path->folder_fd, path->path, path, 0);
	*ret_fd = fd;
	return fd < 0 ? fd : 0;
}

int opener_walk(struct opener *opener, const struct opener_path *path,
		const struct opener_wait *wait, int *ret_fd)
{
	struct opener_request request = {
		.op = path->is_trusted ? OPENER_WALK_TRUSTED : OPENER_WALK,
		.flags = path->flags,
		.resolve = path->resolve,
	};
	size_t size = strlen(path->path);
	uint64_t dev;
	int code;

	if (!opener)
		return walk_directly(path, ret_fd);
	if (size >= sizeof(request.path))
		return -ENAMETOOLONG;
	code = opener_walk_here(opener, path, ret_fd);
	if (code != -EXDEV)
		return code;
	memcpy(request.path, path->path, size + 1);
	dev = device_of(opener, path);
	code = ask(opener, dev, &request, path->folder_fd, wait, ret_fd);
	return code == -EPIPE ? ask(opener, dev, &request, path->folder_fd, wait, ret_fd) : code;
}

int envelope_open(int sock, int *ret_fd)
{
	int fds[WIRE_FDS_MAX];
	char byte;
	int code = wire_recv_fds(sock, &byte, sizeof(byte), fds);

	for (size_t i = 1; i < WIRE_FDS_MAX; i++)
		cleanup_fd(&fds[i]);
	if (code)
		return code;
	*ret_fd = fds[0];
	return fds[0] < 0 ? -EBADMSG : 0;
}
