/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/owner.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/id_table.h"
#include "base/text.h"
#include "base/vector.h"
#include "proc/cgroup.h"

#define CGROUP_BIT (1ull << 32)
#define NR_IDS	   256u /* of cgroups remembered; a power of two */
/* /proc/PID/cgroup has a line for each hierarchy, that of version 2 last. */
#define TEXT_SIZE 16384u
#define SLOW_NS	  NS_PER_MS
#define PAUSE	  100u /* times what a slow reading took */

static const char others[] = "(others)";

/* The numbers of cgroups hold for this process, as those of users do. */
static struct {
	pthread_mutex_t lock;
	bool has_own;
	char own[OWNER_PATH_SIZE]; /* "": there is no version 2 */
	VECTOR(char *) paths;	   /* each owned */
	struct id_table ids;
	uint64_t next_ns; /* CLOCK_MONOTONIC: no process is asked before */
	/* Owners by the ids of cgroups, which are never given twice. */
	struct {
		uint64_t id;	/* 0: none */
		uint64_t owner; /* OWNER_UNKNOWN: the user */
	} by_id[NR_IDS];
	bool has_mount;
	struct cgroup_mount mount; /* path "": version 2 is not mounted */
} known = { .lock = PTHREAD_MUTEX_INITIALIZER };

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* Bytes of "/..", as often as @path begins with it: it leads out of our namespace of cgroups. */
static size_t bytes_up(const char *path)
{
	size_t size = 0;

	while (begins_with(path + size, "/..") && strchr("/\n", path[size + 3]))
		size += 3;
	return size;
}

/* Finds the path of the cgroup of version 2 in @text, of /proc/PID/cgroup. It ends with its line.
 * NULL: the text has no such path. */
static const char *path_in(const char *text)
{
	const char *line = begins_with(text, "0::/") ? text : strstr(text, "\n0::/");

	return line ? strchr(line, '/') : NULL;
}

bool owner_parse_cgroup(const char *text, char ret[OWNER_PATH_SIZE])
{
	const char *path = path_in(text);
	size_t size, nr_parts = 0, nr_max = 2;

	if (!path)
		return false;
	size = bytes_up(path);
	if (begins_with(path + size, "/kubepods.slice/") || begins_with(path + size, "/kubepods/"))
		nr_max = 3;
	for (; path[size] && path[size] != '\n'; size++) {
		nr_parts += path[size] == '/';
		if (nr_parts > nr_max || size == OWNER_PATH_SIZE - 1)
			break;
	}
	if (size > OWNER_PATH_SIZE - 1)
		size = OWNER_PATH_SIZE - 1;
	memcpy(ret, path, size);
	ret[size] = '\0';
	return true;
}

/* How often this thread has slept. */
static long nr_sleeps(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_THREAD, &usage) ? 0 : usage.ru_nvcsw;
}

/*
 * Reads /proc/PID/cgroup, whose text older kernels make under the lock. Returns its size; @ret_ns:
 * how long it waited for the lock, 0 if the thread did not sleep: then others had the CPU. open(2)
 * is not part of it: it sleeps for milliseconds, without any lock of cgroups, where it makes a
 * larger table of descriptors in a process with several threads.
 */
static ssize_t read_text(int fd, char ret[TEXT_SIZE], uint64_t *ret_ns)
{
	uint64_t began_ns = clock_monotonic_ns();
	long slept = nr_sleeps();
	ssize_t size = read(fd, ret, TEXT_SIZE - 1);

	*ret_ns = nr_sleeps() == slept ? 0 : clock_monotonic_ns() - began_ns;
	ret[size < 0 ? 0 : size] = '\0';
	return size;
}

/* Reads the cgroups of the process whose folder in /proc has the name @name. @ret_ns: as that of
 * read_text(). */
static bool read_cgroups(const char *name, char ret[TEXT_SIZE], uint64_t *ret_ns)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%s/cgroup", name);

	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);

	*ret_ns = 0;
	return fd >= 0 && read_text(fd, ret, ret_ns) >= 0;
}

/* The number of the cgroup @path; OWNER_CGROUPS_MAX: that of all for which there is no room. Under
 * the lock. */
static uint64_t number_of(const char *path)
{
	uint64_t hash = id_table_hash(0, path, strlen(path));
	uint32_t at = ID_TABLE_FIND(&known.ids, hash, i, strcmp(known.paths.list[i], path) == 0);
	char *copy;

	if (at != ID_TABLE_NONE)
		return at;
	at = (uint32_t)known.paths.nr;
	if (at == OWNER_CGROUPS_MAX || vector_reserve(&known.paths, at + 1u))
		return OWNER_CGROUPS_MAX;
	copy = strdup(path);
	if (!copy || id_table_add(&known.ids, hash, at)) {
		free(copy);
		return OWNER_CGROUPS_MAX;
	}
	known.paths.list[known.paths.nr++] = copy;
	return at;
}

/* The cgroup of this process; "": there is no version 2. Under the lock. */
static const char *own_cgroup(void)
{
	char text[TEXT_SIZE];
	uint64_t waited_ns;

	if (!known.has_own &&
	    !(read_cgroups("self", text, &waited_ns) && owner_parse_cgroup(text, known.own)))
		known.own[0] = '\0';
	known.has_own = true;
	return known.own;
}

uint64_t owner_of_cgroup(const char *path, uint64_t uid)
{
	uint64_t owner = uid;

	pthread_mutex_lock(&known.lock);
	if (strcmp(path, "/") != 0 && strcmp(path, own_cgroup()) != 0)
		owner = CGROUP_BIT + number_of(path);
	pthread_mutex_unlock(&known.lock);
	return owner;
}

static bool may_ask(uint64_t now_ns)
{
	bool may;

	pthread_mutex_lock(&known.lock);
	may = own_cgroup()[0] && now_ns >= known.next_ns;
	pthread_mutex_unlock(&known.lock);
	return may;
}

static void note_wait(uint64_t waited_ns)
{
	if (waited_ns <= SLOW_NS)
		return;
	pthread_mutex_lock(&known.lock);
	known.next_ns = clock_monotonic_ns() + PAUSE * waited_ns;
	pthread_mutex_unlock(&known.lock);
}

/* Is @id that of the cgroup of version 2 in @text? Its process may have entered another meanwhile.
 * The inode number of a cgroup is its id. */
static bool is_id_of(const char *text, uint64_t id)
{
	const char *path = path_in(text);
	char full[2 * PATH_MAX];
	struct stat st;

	pthread_mutex_lock(&known.lock);
	if (!known.has_mount && cgroup_mount_find(&known.mount, NULL))
		known.mount.path[0] = '\0';
	known.has_mount = true;
	pthread_mutex_unlock(&known.lock);
	if (!path || !known.mount.path[0])
		return false;
	snprintf(full, sizeof(full), "%s%.*s", known.mount.path, (int)strcspn(path, "\n"), path);
	return stat(full, &st) == 0 && st.st_ino == id;
}

static size_t place_of(uint64_t id)
{
	return id_table_hash(0, &id, sizeof(id)) % NR_IDS;
}

static void remember(uint64_t id, uint64_t owner)
{
	size_t at = place_of(id);

	pthread_mutex_lock(&known.lock);
	known.by_id[at].id = id;
	known.by_id[at].owner = owner;
	pthread_mutex_unlock(&known.lock);
}

/* The cgroup of process @pid; @uid if that is no owner. @id: of the cgroup, as the kernel has said;
 * 0: it has not. */
static uint64_t cgroup_or_user(pid_t pid, uint64_t uid, uint64_t id)
{
	char name[16], text[TEXT_SIZE], path[OWNER_PATH_SIZE];
	uint64_t waited_ns, owner = uid;
	bool has_path;

	if (!may_ask(clock_monotonic_ns()))
		return uid;
	snprintf(name, sizeof(name), "%d", (int)pid);
	has_path = read_cgroups(name, text, &waited_ns) && owner_parse_cgroup(text, path);
	note_wait(waited_ns);
	if (has_path)
		owner = owner_of_cgroup(path, uid);
	if (has_path && id && is_id_of(text, id))
		remember(id, owner_is_cgroup(owner) ? owner : OWNER_UNKNOWN);
	return owner;
}

/* owner_of_process(); @id: as that of cgroup_or_user(). */
static uint64_t ask_process(pid_t pid, uint64_t id)
{
	char path[32];
	struct stat st;

	/* the folder itself belongs to the effective user, whatever the process claims */
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) < 0)
		return OWNER_UNKNOWN;
	return owner_is_limited(st.st_uid) ? st.st_uid : cgroup_or_user(pid, st.st_uid, id);
}

uint64_t owner_of_process(pid_t pid)
{
	return ask_process(pid, 0);
}

uint64_t owner_of_exec(pid_t pid, uint32_t euid, uint64_t cgroup)
{
	size_t at = place_of(cgroup);
	uint64_t owner = euid;
	bool is_known;

	if (owner_is_limited(euid))
		return euid;
	pthread_mutex_lock(&known.lock);
	is_known = cgroup && known.by_id[at].id == cgroup;
	if (is_known && known.by_id[at].owner != OWNER_UNKNOWN)
		owner = known.by_id[at].owner;
	pthread_mutex_unlock(&known.lock);
	return is_known ? owner : ask_process(pid, cgroup);
}

uint64_t owner_of_file(uid_t uid, pid_t pid, uint64_t owner)
{
	if (owner_is_limited(uid))
		return uid;
	if (owner == OWNER_UNKNOWN)
		owner = owner_of_process(pid);
	return owner_is_cgroup(owner) ? owner : uid;
}

const char *owner_cgroup(uint64_t owner)
{
	const char *path = others;

	if (!owner_is_cgroup(owner))
		return NULL;
	pthread_mutex_lock(&known.lock);
	if (owner - CGROUP_BIT < known.paths.nr)
		path = known.paths.list[owner - CGROUP_BIT];
	pthread_mutex_unlock(&known.lock);
	return path;
}

const char *owner_text(uint64_t owner, char to[OWNER_TEXT_SIZE])
{
	static const char before[] = "cgroup ";
	const char *cgroup = owner_cgroup(owner);

	if (cgroup) {
		memcpy(to, before, sizeof(before));
		text_escape(to + sizeof(before) - 1, OWNER_TEXT_SIZE - (sizeof(before) - 1), cgroup,
			    "");
	} else {
		snprintf(to, OWNER_TEXT_SIZE, "user %" PRIu64, owner);
	}
	return to;
}
