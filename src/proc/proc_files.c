/* SPDX-License-Identifier: Apache-2.0 */
#include "proc/proc_files.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "proc/thread.h"

#define NAME_SIZE  64u
#define PAUSE_NS   (10 * NS_PER_MS)
#define SILENT_MAX 64u /* processes remembered; the first makes room */
#define LEFT_MAX \
	256u /* limit of threads left behind at once; above it no further process is read */
/* Limits of waiting, as for file systems; when all of it is used up, the rest for any process. */
#define FIRST_NS (OPENER_FIRST_MS * NS_PER_MS)
#define NEXT_NS	 (OPENER_NEXT_MS * NS_PER_MS)
#define ALL_NS	 (OPENER_ALL_MS * NS_PER_MS)
#define LEAST_NS (2 * PAUSE_NS)

struct job {
	pid_t pid;
	size_t nr;
	char names[PROC_FILES_MAX][NAME_SIZE];
	int flags[PROC_FILES_MAX];
	int fds[PROC_FILES_MAX]; /* -errno */
	size_t wanted;		 /* bytes of the first; 0: it stays open */
	off_t off;
	ssize_t size; /* read, or -errno */
	uint8_t bytes[PROC_FILES_READ];
	bool done, abandoned;
};

/* This process has one reader thread at a time, and the ones it has left behind. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool is_busy; /* a caller's job is running */
	bool has_reader;
	pid_t reader;	  /* its tid */
	struct job *next; /* owned, until it is taken */
	unsigned int nr_left;
	struct {
		pid_t pid;
		uint64_t until_ns;
	} silent[SILENT_MAX];
	size_t nr_silent; /* in all */
	uint64_t waited_ns;
} reading = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void close_all(struct job *job)
{
	for (size_t i = 0; i < job->nr; i++) {
		cleanup_fd(&job->fds[i]);
		job->fds[i] = -1;
	}
}

/* The part that may wait. */
static void do_job(struct job *job)
{
	for (size_t i = 0; i < job->nr; i++) {
		char path[NAME_SIZE + 32];

		snprintf(path, sizeof(path), "/proc/%d/%s", (int)job->pid, job->names[i]);
		job->fds[i] = open(path, job->flags[i] | O_CLOEXEC);
		if (job->fds[i] < 0)
			job->fds[i] = -errno;
	}
	if (!job->wanted)
		return;
	job->size = job->fds[0] < 0 ? job->fds[0]
				    : pread(job->fds[0], job->bytes, job->wanted, job->off);
	if (job->fds[0] >= 0 && job->size < 0)
		job->size = -errno;
	close_all(job);
}

/* A reader that was left behind ends when its wait is over: another one has replaced it. */
static void *read_jobs(void *ctx)
{
	bool was_left = false;

	(void)ctx;
	pthread_mutex_lock(&reading.lock);
	reading.reader = (pid_t)syscall(SYS_gettid);
	while (!was_left) {
		struct job *job = reading.next;

		if (!job) {
			pthread_cond_wait(&reading.changed, &reading.lock);
			continue;
		}
		reading.next = NULL;
		pthread_mutex_unlock(&reading.lock);
		do_job(job);
		pthread_mutex_lock(&reading.lock);
		job->done = true;
		was_left = job->abandoned;
		if (was_left) {
			reading.nr_left--;
			close_all(job);
			free(job);
		}
		pthread_cond_broadcast(&reading.changed);
	}
	pthread_mutex_unlock(&reading.lock);
	return NULL;
}

/* Under the lock. */
static int need_reader(void)
{
	pthread_t thread;
	int code;

	if (reading.has_reader)
		return 0;
	if (reading.nr_left >= LEFT_MAX)
		return -ETIMEDOUT;
	reading.reader = 0;
	code = thread_begin(&thread, read_jobs, NULL);
	if (code)
		return code;
	pthread_detach(thread);
	reading.has_reader = true;
	return 0;
}

static bool is_silent(pid_t pid)
{
	uint64_t now = clock_monotonic_ns();

	for (size_t i = 0; i < SILENT_MAX; i++) {
		if (reading.silent[i].pid == pid && reading.silent[i].until_ns > now)
			return true;
	}
	return false;
}

static uint64_t patience_ns(void)
{
	uint64_t most_ns = reading.nr_silent ? NEXT_NS : FIRST_NS;

	return reading.waited_ns + most_ns > ALL_NS ? LEAST_NS : most_ns;
}

/* Under the lock: leave the reader behind, with @job. */
static int leave(struct job *job, uint64_t ns)
{
	size_t at = reading.nr_silent++ % SILENT_MAX;

	job->abandoned = true;
	reading.has_reader = false;
	reading.nr_left++;
	reading.waited_ns += ns;
	reading.silent[at].pid = job->pid;
	reading.silent[at].until_ns = clock_monotonic_ns() + PROC_FILES_FORGET_S * NS_PER_S;
	fpl_log(reading.nr_silent <= SILENT_MAX ? FPL_LOG_WARN : FPL_LOG_DEBUG,
		"pid %d: its exec blocked reads of /proc/PID for %.1f s: its frames stay unnamed",
		(int)job->pid, (double)ns / NS_PER_S);
	return -ETIMEDOUT;
}

/* Does the reader wait for the process, not for a CPU? */
static bool is_held_up(pid_t reader)
{
	return reader && thread_state(getpid(), reader) == 'D';
}

/* Under the lock, which is let go of meanwhile. */
static int await(struct job *job, uint64_t most_ns)
{
	uint64_t began_ns = clock_monotonic_ns(), patience = patience_ns();

	if (most_ns > patience)
		most_ns = patience;

	while (!job->done) {
		struct timespec until;
		uint64_t ns = clock_ns(CLOCK_REALTIME) + PAUSE_NS;

		until.tv_sec = (time_t)(ns / NS_PER_S);
		until.tv_nsec = (long)(ns % NS_PER_S);
		pthread_cond_timedwait(&reading.changed, &reading.lock, &until);
		if (job->done)
			break;
		ns = clock_monotonic_ns() - began_ns;
		if (!job->done && ns > most_ns && is_held_up(reading.reader))
			return leave(job, ns);
	}
	return 0;
}

/* Has @job done, which is freed where that fails. */
static int have_done(struct job *job, uint64_t most_ns)
{
	int code;

	/* of ourselves there is nothing to wait for */
	if (job->pid == getpid()) {
		do_job(job);
		return 0;
	}
	pthread_mutex_lock(&reading.lock);
	while (reading.is_busy)
		pthread_cond_wait(&reading.changed, &reading.lock);
	code = is_silent(job->pid) ? -ETIMEDOUT : need_reader();
	if (code) {
		free(job);
	} else {
		reading.is_busy = true;
		reading.next = job;
		pthread_cond_broadcast(&reading.changed);
		code = await(job, most_ns);
		reading.is_busy = false;
		pthread_cond_broadcast(&reading.changed);
	}
	pthread_mutex_unlock(&reading.lock);
	return code;
}

int proc_files_open(pid_t pid, struct proc_file *files, size_t nr)
{
	struct job *job = calloc(1, sizeof(*job));
	int code;

	if (!job)
		return -ENOMEM;
	job->pid = pid;
	job->nr = nr < PROC_FILES_MAX ? nr : PROC_FILES_MAX;
	for (size_t i = 0; i < job->nr; i++) {
		snprintf(job->names[i], sizeof(job->names[i]), "%s", files[i].name);
		job->flags[i] = files[i].flags;
		job->fds[i] = -ENOENT;
	}
	code = have_done(job, UINT64_MAX);
	for (size_t i = 0; i < nr; i++)
		files[i].fd = code ? code : job->fds[i];
	if (!code)
		free(job);
	return code;
}

int proc_file_open(pid_t pid, const char *name, int flags)
{
	struct proc_file file = { .name = name, .flags = flags };
	int code = proc_files_open(pid, &file, 1);

	return code ? code : file.fd;
}

ssize_t proc_file_read(pid_t pid, const char *name, uint64_t off, void *to, size_t size,
		       uint64_t most_ns)
{
	struct job *job;
	ssize_t nr;

	if (size > sizeof(job->bytes) || off > INT64_MAX)
		return -EINVAL;
	job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	job->pid = pid;
	job->nr = 1;
	job->flags[0] = O_RDONLY;
	job->wanted = size;
	job->off = (off_t)off;
	snprintf(job->names[0], sizeof(job->names[0]), "%s", name);
	nr = have_done(job, most_ns);
	if (nr < 0)
		return nr;
	nr = job->size;
	if (nr > 0)
		memcpy(to, job->bytes, (size_t)nr);
	free(job);
	return nr;
}
