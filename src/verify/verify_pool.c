/* SPDX-License-Identifier: Apache-2.0 */
#include "verify/verify_pool.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"

struct worker {
	pid_t pid; /* 0: none */
	int fd;	   /* owned: job indices go out, reports come back; -1: none */
	size_t job;
	bool busy;
	uint64_t deadline_ns;
};

struct pool {
	struct verify_job *jobs;
	size_t nr_jobs, next_job, nr_done;
	const struct verify_pool_options *options;
	struct worker *workers; /* [options->nr_workers] */
};

static bool read_all(int fd, void *buf, size_t size)
{
	char *at = buf;

	while (size > 0) {
		ssize_t got = read(fd, at, size);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		size -= (size_t)got;
	}
	return true;
}

static bool write_all(int fd, const void *buf, size_t size)
{
	const char *at = buf;

	while (size > 0) {
		ssize_t put = send(fd, at, size, MSG_NOSIGNAL);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return false;
		at += put;
		size -= (size_t)put;
	}
	return true;
}

/* The worker's whole life: a job index in, a report out. */
static _Noreturn void worker_main(const struct pool *pool, int fd)
{
	/* 2 GiB: ten times what the largest honest file needs; a sanitizer needs it for itself */
#if !defined(__SANITIZE_ADDRESS__)
	const struct rlimit memory = { 2ul << 30, 2ul << 30 };

	setrlimit(RLIMIT_DATA, &memory); /* where refused, the timeout still bounds a file */
#endif
	struct report *report = malloc(sizeof(*report));
	size_t job;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (report != NULL && read_all(fd, &job, sizeof(job))) {
		pool->options->judge(pool->jobs[job].path, report);
		(void)!write_all(fd, report, sizeof(*report));
	}
	_exit(0);
}

static int worker_start(struct pool *pool, struct worker *worker, struct fpl_err *err)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
		return fpl_fail(err, -errno, "verify: no socket pair: %s", strerror(errno));
	fflush(NULL); /* or the child would write what is buffered a second time */
	worker->pid = fork();
	if (worker->pid < 0) {
		int rc = fpl_fail(err, -errno, "verify: no worker process: %s", strerror(errno));

		worker->pid = 0;
		close(fds[0]);
		close(fds[1]);
		return rc;
	}
	if (worker->pid == 0) {
		for (unsigned int i = 0; i < pool->options->nr_workers; i++) {
			if (pool->workers[i].fd >= 0)
				close(pool->workers[i].fd);
		}
		close(fds[0]);
		worker_main(pool, fds[1]);
	}
	close(fds[1]);
	worker->fd = fds[0];
	return 0;
}

/* End the worker's process; returns its wait status. */
static int worker_stop(struct worker *worker, bool kill_it)
{
	int status = 0;

	if (worker->pid == 0)
		return 0;
	if (kill_it)
		kill(worker->pid, SIGKILL);
	close(worker->fd);
	worker->fd = -1;
	while (waitpid(worker->pid, &status, 0) < 0 && errno == EINTR)
		;
	worker->pid = 0;
	return status;
}

static void job_done(struct pool *pool, struct worker *worker, struct report *report)
{
	struct verify_job *job = &pool->jobs[worker->job];

	job->report = report;
	worker->busy = false;
	pool->nr_done++;
	if (pool->options->done != NULL)
		pool->options->done(job, pool->options->ctx);
}

/* Give @worker the next job, if there is one, and a process to do it. */
static int feed(struct pool *pool, struct worker *worker, struct fpl_err *err)
{
	if (worker->busy || pool->next_job == pool->nr_jobs)
		return 0;
	int rc = worker_start(pool, worker, err);

	if (rc != 0)
		return rc;
	worker->job = pool->next_job++;
	worker->busy = true;
	worker->deadline_ns = clock_monotonic_ns() + pool->options->timeout_ns;
	/* the end of its stream shows that a worker is gone already */
	(void)!write_all(worker->fd, &worker->job, sizeof(worker->job));
	return 0;
}

static struct report *failed_report(void)
{
	struct report *report = calloc(1, sizeof(*report));

	if (report != NULL)
		report->status = REPORT_FAILED;
	return report;
}

/* Read the report of a busy worker, or find that it has died. */
static int collect(struct pool *pool, struct worker *worker, struct fpl_err *err)
{
	const char *path = pool->jobs[worker->job].path;
	struct report *report = failed_report();
	int status;

	if (report == NULL)
		return fpl_fail(err, -ENOMEM, "verify: no memory for a report");
	if (read_all(worker->fd, report, sizeof(*report))) {
		worker_stop(worker, true);
	} else {
		memset(report, 0, sizeof(*report));
		report->status = REPORT_FAILED;
		status = worker_stop(worker, true);
		if (WIFSIGNALED(status))
			snprintf(report->message, sizeof(report->message),
				 "%s: the process judging it died: %s", path,
				 strsignal(WTERMSIG(status)));
		else
			snprintf(report->message, sizeof(report->message),
				 "%s: the process judging it ended with status %d", path,
				 WEXITSTATUS(status));
	}
	job_done(pool, worker, report);
	return 0;
}

static int expire(struct pool *pool, struct worker *worker, struct fpl_err *err)
{
	struct report *report = failed_report();

	if (report == NULL)
		return fpl_fail(err, -ENOMEM, "verify: no memory for a report");
	snprintf(report->message, sizeof(report->message),
		 "%s: not judged within %g s: raise the limit (-t)", pool->jobs[worker->job].path,
		 (double)pool->options->timeout_ns / 1e9);
	worker_stop(worker, true);
	job_done(pool, worker, report);
	return 0;
}

/* Wait until a worker has sent data or exceeds its time, and handle it. */
static int pool_wait(struct pool *pool, struct pollfd *polls, struct fpl_err *err)
{
	unsigned int nr_workers = pool->options->nr_workers;
	uint64_t now = clock_monotonic_ns(), wait_ns = UINT64_MAX;
	int rc = 0;

	for (unsigned int i = 0; i < nr_workers; i++) {
		const struct worker *worker = &pool->workers[i];
		uint64_t left = worker->deadline_ns > now ? worker->deadline_ns - now : 0;

		polls[i] =
			(struct pollfd){ .fd = worker->busy ? worker->fd : -1, .events = POLLIN };
		if (worker->busy && left < wait_ns)
			wait_ns = left;
	}
	if (poll(polls, nr_workers, (int)(wait_ns / 1000000 + 1)) < 0 && errno != EINTR)
		return fpl_fail(err, -errno, "verify: poll: %s", strerror(errno));
	now = clock_monotonic_ns();
	for (unsigned int i = 0; i < nr_workers && rc == 0; i++) {
		struct worker *worker = &pool->workers[i];

		if (!worker->busy)
			continue;
		if (polls[i].revents != 0)
			rc = collect(pool, worker, err);
		else if (now >= worker->deadline_ns)
			rc = expire(pool, worker, err);
	}
	return rc;
}

int verify_pool_run(struct verify_job *jobs, size_t nr_jobs,
		    const struct verify_pool_options *options, struct fpl_err *err)
{
	AUTO_FREE struct worker *workers = calloc(options->nr_workers, sizeof(*workers));
	AUTO_FREE struct pollfd *polls = calloc(options->nr_workers, sizeof(*polls));
	struct pool pool = { jobs, nr_jobs, 0, 0, options, workers };
	int rc = 0;

	if (workers == NULL || polls == NULL)
		return fpl_fail(err, -ENOMEM, "verify: no memory for %u workers",
				options->nr_workers);
	for (unsigned int i = 0; i < options->nr_workers; i++)
		workers[i].fd = -1;
	while (rc == 0 && pool.nr_done < nr_jobs) {
		for (unsigned int i = 0; i < options->nr_workers && rc == 0; i++)
			rc = feed(&pool, &workers[i], err);
		if (rc == 0)
			rc = pool_wait(&pool, polls, err);
	}
	for (unsigned int i = 0; i < options->nr_workers; i++)
		worker_stop(&workers[i], rc != 0);
	return rc;
}
