/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/targets.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "proc/cgroup.h"
#include "proc/pidfd.h"
#include "proc/thread.h"

/* @nr_found of @nr things @option names are there; @err says why the last missing one is not. */
static int judge_missing(size_t nr_found, size_t nr, const char *option, const char *things,
			 struct fpl_err *err)
{
	if (!nr_found)
		return nr == 1 ? -ESRCH
			       : fpl_fail_in(err, -ESRCH, "%s: none of %zu %s", option, nr, things);
	if (nr_found < nr && err)
		fpl_log(FPL_LOG_WARN, "%s: the run goes on without %s", err->msg,
			nr - nr_found == 1 ? "it" : "it and others");
	return 0;
}

static bool is_listed(const pid_t *pids, size_t nr, pid_t pid)
{
	for (size_t i = 0; i < nr; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Find the process of thread @tid and take the thread in. */
static int add_thread(struct targets *targets, const struct engine_options *o, pid_t tid,
		      struct fpl_err *err)
{
	struct target_thread thread = { .tid = tid };
	int code = thread_process(tid, &thread.pid, err);

	if (code)
		return code;
	if (o->nr_pids && !is_listed(o->pids, o->nr_pids, thread.pid))
		return fpl_fail(err, -ESRCH, "thread %d: of process %d, which -p does not name",
				(int)tid, (int)thread.pid);
	targets->threads[targets->nr_threads++] = thread;
	return 0;
}

/* The threads of -t; @pids gets their processes, each once. */
static int find_threads(struct targets *targets, const struct engine_options *o, pid_t *pids,
			size_t *ret_nr, struct fpl_err *err)
{
	targets->by_thread = true;
	targets->threads = calloc(o->nr_tids, sizeof(*targets->threads));
	if (!targets->threads)
		return fpl_fail(err, -ENOMEM, "-t: out of memory");
	for (size_t i = 0; i < o->nr_tids; i++) {
		int code = add_thread(targets, o, o->tids[i], err);

		if (code && code != -ESRCH)
			return code;
	}
	*ret_nr = 0;
	for (size_t i = 0; i < targets->nr_threads; i++)
		if (!is_listed(pids, *ret_nr, targets->threads[i].pid))
			pids[(*ret_nr)++] = targets->threads[i].pid;
	return judge_missing(targets->nr_threads, o->nr_tids, "-t", "threads", err);
}

static int hold_processes(struct targets *targets, const pid_t *pids, size_t nr,
			  struct fpl_err *err)
{
	targets->processes = calloc(nr, sizeof(*targets->processes));
	if (!targets->processes)
		return fpl_fail(err, -ENOMEM, "-p: out of memory");
	for (size_t i = 0; i < nr; i++) {
		struct target_process *process = &targets->processes[targets->nr_processes++];
		int code;

		*process = (struct target_process){ .pid = pids[i], .fd = -1 };
		code = pidfd_of(pids[i], &process->fd, err);
		if (code && code != -ESRCH)
			return code;
		targets->nr_alive += !code;
	}
	return judge_missing(targets->nr_alive, nr, "-p", "processes", err);
}

int targets_open(const struct engine_options *options, struct targets *ret, struct fpl_err *err)
{
	AUTO_FREE pid_t *pids = calloc(options->nr_tids + 1, sizeof(*pids));
	struct targets targets = { .cgroup_fd = -1 };
	size_t nr_pids = 0;
	int code = 0;

	if (!pids)
		return fpl_fail(err, -ENOMEM, "-t: out of memory");
	if (options->nr_tids)
		code = find_threads(&targets, options, pids, &nr_pids, err);
	if (!code && options->target == ENGINE_TARGET_PIDS)
		code = hold_processes(&targets, options->nr_tids ? pids : options->pids,
				      options->nr_tids ? nr_pids : options->nr_pids, err);
	if (!code && options->cgroup)
		code = cgroup_open(options->cgroup, &targets.cgroup_fd, err);
	if (code) {
		targets_close(&targets);
		return code;
	}
	*ret = targets;
	return 0;
}

void targets_close(struct targets *targets)
{
	for (size_t i = 0; i < targets->nr_processes; i++)
		cleanup_fd(&targets->processes[i].fd);
	free(targets->processes);
	free(targets->threads);
	cleanup_fd(&targets->cgroup_fd);
	*targets = (struct targets){ .cgroup_fd = -1 };
}

int targets_publish(struct targets *targets, struct kernel_side *kernel, struct fpl_err *err)
{
	int code =
		targets->cgroup_fd >= 0 ? kernel_side_cgroup(kernel, targets->cgroup_fd, err) : 0;

	for (size_t i = 0; !code && i < targets->nr_threads; i++)
		code = kernel_side_thread(kernel, (uint32_t)targets->threads[i].tid, err);
	for (size_t i = 0; !code && i < targets->nr_processes; i++) {
		if (targets->processes[i].fd < 0)
			continue;
		code = kernel_side_target(kernel, (uint32_t)targets->processes[i].pid,
					  FPL_TARGET_ACTIVE, err);
	}
	/* from here on the kernel side sees one exit; before, no part of fpless did */
	for (size_t i = 0; i < targets->nr_threads;) {
		const struct target_thread *thread = &targets->threads[i];

		if (thread_is_alive(thread->pid, thread->tid))
			i++;
		else
			targets->threads[i] = targets->threads[--targets->nr_threads];
	}
	return code;
}

void targets_adopt(const struct targets *targets, struct tracker *tracker)
{
	for (size_t i = 0; i < targets->nr_processes; i++) {
		const struct target_process *process = &targets->processes[i];

		if (process->fd >= 0 && tracker_adopt(tracker, (uint32_t)process->pid, true, NULL))
			fpl_log(FPL_LOG_DEBUG, "pid %d: its mappings cannot be read yet",
				(int)process->pid);
	}
}

bool targets_process_ended(struct targets *targets)
{
	return --targets->nr_alive == 0;
}

bool targets_threads_gone(struct targets *targets, const struct kernel_side *kernel)
{
	for (size_t i = 0; i < targets->nr_threads;) {
		if (kernel_side_thread_lives(kernel, (uint32_t)targets->threads[i].tid))
			i++;
		else
			targets->threads[i] = targets->threads[--targets->nr_threads];
	}
	return targets->by_thread && !targets->nr_threads;
}
