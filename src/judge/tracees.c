/* SPDX-License-Identifier: Apache-2.0 */
#include "judge/tracees.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/text.h"
#include "proc/advice.h"
#include "proc/thread.h"

enum {
	TICK_MS = 20,	    /* interval of a wait at which time and user are checked */
	LEAVE_MS = 5000,    /* limit for a thread to stop, so that it can be detached */
	ATTACH_ROUNDS = 64, /* over threads that are made while we attach */
	SETTLE_MOST = 64,   /* limit of stops per thread: a program that makes threads all the time
			       never runs out of them */
};

#define OPTIONS (PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC)

static struct tracee_thread *find(const struct tracees *tracees, pid_t tid)
{
	for (size_t i = 0; i < tracees->nr; i++)
		if (tracees->threads[i].tid == tid)
			return &tracees->threads[i];
	return NULL;
}

static void forget(struct tracees *tracees, pid_t tid)
{
	struct tracee_thread *thread = find(tracees, tid);

	if (thread)
		*thread = tracees->threads[--tracees->nr];
}

static int add(struct tracees *tracees, pid_t tid)
{
	if (find(tracees, tid))
		return 0;
	if (tracees->nr == TRACEES_MAX)
		return -E2BIG;

	int code = array_reserve(&tracees->threads, sizeof(*tracees->threads), &tracees->room,
				 tracees->nr + 1);

	if (code)
		return code;
	tracees->threads[tracees->nr++] = (struct tracee_thread){ .tid = tid };
	if (tracees->nr > tracees->most)
		tracees->most = tracees->nr;
	return 0;
}

static int scope_of_ptrace(void)
{
	FILE *file = fopen("/proc/sys/kernel/yama/ptrace_scope", "re");
	int scope = file ? fgetc(file) - '0' : 0;

	if (file)
		fclose(file);
	return scope;
}

/*
 * Find the reason why the kernel lets no process trace @pid, whatever its rights. Returns 0: no
 * such reason.
 */
static int refuse_always(pid_t pid, struct fpl_err *err)
{
	if (pid == getpid())
		return fpl_fail(err, -EPERM, "pid %d: fpless cannot judge itself", (int)pid);
	if (thread_state(pid, pid) == 'Z')
		return fpl_fail(
			err, -ESRCH,
			"pid %d: it has ended, or its first thread has: its memory cannot be read",
			(int)pid);
	if (thread_number(pid, "VmSize:") < 0)
		return fpl_fail(err, -EPERM, "pid %d: a kernel thread: it runs no program",
				(int)pid);
	return 0;
}

static int refuse(pid_t pid, int code, struct fpl_err *err)
{
	int64_t tracer = thread_number(pid, "TracerPid:"); /* a thread */
	int scope = scope_of_ptrace(), known;
	pid_t process;

	if (code == -ESRCH)
		return fpl_fail(err, code, "pid %d: no such process", (int)pid);
	if (code != -EPERM)
		return fpl_fail(err, code, "pid %d: ptrace: %s", (int)pid, strerror(-code));
	if (tracer > 0 && thread_process((pid_t)tracer, &process, NULL) == 0)
		return fpl_fail(
			err, code,
			"pid %d: process %d traces it already (gdb, strace): end that first",
			(int)pid, (int)process);
	known = refuse_always(pid, err);
	if (known)
		return known;
	if (scope > 0 && geteuid() != 0)
		return fpl_fail(
			err, code,
			"pid %d: ptrace: %s: kernel.yama.ptrace_scope is %d: run as root, let fpless start the command, or sudo sysctl kernel.yama.ptrace_scope=0",
			(int)pid, strerror(-code), scope);
	return advice_fail_process(err, code, pid);
}

/* Attach to threads not attached yet. Returns their number, or an error. */
static int attach_round(struct tracees *tracees)
{
	char path[64];
	int nr = 0, code = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)tracees->pid);

	DIR *tasks = opendir(path);

	if (!tasks)
		return errno == ENOENT ? -ESRCH : -errno;
	for (const struct dirent *entry; !code && (entry = readdir(tasks));) {
		uint64_t tid;

		if (!text_to_number(entry->d_name, INT32_MAX, &tid) || find(tracees, (pid_t)tid))
			continue;
		if (ptrace(PTRACE_SEIZE, (pid_t)tid, NULL, (void *)(uintptr_t)OPTIONS) == 0)
			code = add(tracees, (pid_t)tid);
		else if ((pid_t)tid == tracees->pid || errno != ESRCH)
			/* a thread made after its maker was attached is attached already */
			code = errno == EPERM && tracees->nr ? 0 : -errno;
		nr++;
	}
	closedir(tasks);
	return code ? code : nr;
}

static void wake(int number)
{
	(void)number; /* only a wait is to end */
}

/* Waits end now and then. */
static void tick(bool on)
{
	const struct sigaction action = { .sa_handler = wake };
	const struct timeval every = { .tv_usec = on ? TICK_MS * 1000 : 0 };
	const struct itimerval timer = { .it_interval = every, .it_value = every };

	if (on)
		sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

int tracees_attach(struct tracees *ret, pid_t pid, const volatile sig_atomic_t *stop,
		   struct fpl_err *err)
{
	int nr = 1;
	pid_t process;

	*ret = (struct tracees){ .pid = pid, .stop = stop };
	if (thread_process(pid, &process, NULL) == 0 && process != pid)
		return fpl_fail(err, -ESRCH, "pid %d: a thread of process %d, not a process",
				(int)pid, (int)process);
	for (int i = 0; i < ATTACH_ROUNDS && nr > 0; i++)
		nr = attach_round(ret);
	if (nr < 0)
		return refuse(pid, nr, err);
	tick(true);
	return 0;
}

/* The process has executed another program: one thread is left. */
static void take_exec(struct tracees *tracees, pid_t tid)
{
	tracees->nr = 0;
	tracees->replaced = true;
	if (add(tracees, tid) == 0) /* there is room: it was in the list */
		tracees->threads[0].stopped = true;
}

/* Classify a SIGTRAP: our step or breakpoint, or the program's own. */
static enum tracee_event event_of_trap(pid_t tid, int *ret_signal)
{
	int code;

	if (!tracee_signal_code(tid, &code))
		return TRACEE_GONE;
	switch (code) {
	case TRAP_TRACE:
	case TRAP_BRKPT: /* behind a system call; int3 has SI_KERNEL */
		return TRACEE_STEPPED;
	case TRAP_HWBKPT:
		return TRACEE_BREAKPOINT;
	case SIGTRAP: /* the kernel's notice, signal.c:signal_setup_done() */
		return TRACEE_HANDLER;
	default:
		*ret_signal = SIGTRAP;
		return TRACEE_SIGNALLED;
	}
}

static bool is_group_stop(int number)
{
	return number == SIGSTOP || number == SIGTSTP || number == SIGTTIN || number == SIGTTOU;
}

static void note_end(struct tracees *tracees, pid_t tid, int status)
{
	forget(tracees, tid);
	if (tid != tracees->pid)
		return;
	tracees->ended = true;
	tracees->status = status;
}

/* Turn @status of wait(2) of @tid into an event. */
static enum tracee_event event_of(struct tracees *tracees, pid_t tid, int status, int *ret_signal)
{
	int event = status >> 16, number = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
	struct tracee_thread *thread = find(tracees, tid);

	*ret_signal = 0;
	if (!WIFSTOPPED(status)) {
		note_end(tracees, tid, status);
		return TRACEE_GONE;
	}
	if (thread) {
		thread->stopped = true;
		if (event == PTRACE_EVENT_STOP)
			thread->asked = false;
	}
	if (event == PTRACE_EVENT_EXEC) {
		take_exec(tracees, tid);
		return TRACEE_OTHER_IMAGE;
	}
	if (event == PTRACE_EVENT_STOP && is_group_stop(number))
		return TRACEE_GROUP_STOP;
	if (event)
		return TRACEE_STOPPED;
	if (number == SIGTRAP)
		return event_of_trap(tid, ret_signal);
	*ret_signal = number;
	return TRACEE_SIGNALLED;
}

/* Is it a new thread made by a traced one, or a process that shares its memory? */
static bool is_ours(struct tracees *tracees, pid_t tid)
{
	pid_t process;

	if (find(tracees, tid))
		return true;
	if (thread_process(tid, &process, NULL) || process != tracees->pid)
		return false;
	return add(tracees, tid) == 0;
}

/* Let a thread that is not held go on as if untraced. */
static void settle(struct tracees *tracees, pid_t tid, int status)
{
	int number;

	if (WIFSTOPPED(status) && !is_ours(tracees, tid)) {
		tracee_go(tid, TRACEE_LEAVE, 0);
		return;
	}

	enum tracee_event event = event_of(tracees, tid, status, &number);

	switch (event) {
	case TRACEE_GROUP_STOP:
		tracees_go(tracees, tid, TRACEE_LISTEN, 0);
		break;
	case TRACEE_SIGNALLED:
		tracees_go(tracees, tid, TRACEE_RUN, number);
		break;
	case TRACEE_BREAKPOINT:
		tracees_break_at(tracees, tid, NULL, 0);
		__attribute__((__fallthrough__));
	case TRACEE_STOPPED:
	case TRACEE_STEPPED:
	case TRACEE_HANDLER:
	case TRACEE_OTHER_IMAGE:
		tracees_go(tracees, tid, TRACEE_RUN, 0);
		break;
	case TRACEE_NOTHING:
	case TRACEE_GONE:
	default:
		break;
	}
}

void tracees_settle(struct tracees *tracees)
{
	int status;
	pid_t tid = 0;

	for (int i = 0; i < SETTLE_MOST; i++) {
		tid = waitpid(-1, &status, __WALL | WNOHANG);
		if (tid <= 0)
			break;
		settle(tracees, tid, status);
	}
	if (tid < 0 && errno == ECHILD)
		tracees->ended = true;
}

void tracees_idle(struct tracees *tracees, unsigned int ms)
{
	uint64_t end_ms = clock_monotonic_ms() + ms;
	int status;

	while (!tracees->ended && !*tracees->stop && clock_monotonic_ms() < end_ms) {
		pid_t tid = waitpid(-1, &status, __WALL);

		if (tid > 0)
			settle(tracees, tid, status);
		else if (errno == ECHILD)
			tracees->ended = true;
	}
}

pid_t tracees_running(struct tracees *tracees)
{
	for (size_t i = 0; i < tracees->nr; i++) {
		const struct tracee_thread *thread =
			&tracees->threads[(tracees->next + i) % tracees->nr];

		if (!thread->stopped && thread_state(tracees->pid, thread->tid) == 'R') {
			tracees->next = (tracees->next + i + 1) % tracees->nr;
			return thread->tid;
		}
	}
	return 0;
}

bool tracees_interrupt(struct tracees *tracees, pid_t tid)
{
	struct tracee_thread *thread = find(tracees, tid);

	if (!thread)
		return false;
	thread->asked = true;
	return ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0;
}

bool tracees_break_at(struct tracees *tracees, pid_t tid, const uint64_t *addresses, size_t nr)
{
	struct tracee_thread *thread = find(tracees, tid);

	if (!thread || (!nr && !thread->breakpoints))
		return thread != NULL;

	if (!tracee_break_at(tid, addresses, nr))
		return false;
	thread->breakpoints = nr != 0;
	return true;
}

bool tracees_go(struct tracees *tracees, pid_t tid, enum tracee_request request, int number)
{
	struct tracee_thread *thread = find(tracees, tid);

	if (!thread || !tracee_go(tid, request, number))
		return false;
	thread->stopped = false;
	if (request != TRACEE_LISTEN) /* which leaves the processor's trap flag as it is */
		thread->stepping = request == TRACEE_STEP;
	return true;
}

enum tracee_event tracees_wait(struct tracees *tracees, pid_t tid, unsigned int ms, int *ret_signal)
{
	uint64_t end_ms = 0;
	int status;

	for (;;) {
		pid_t which = waitpid(-1, &status, __WALL);

		if (which == tid)
			return event_of(tracees, tid, status, ret_signal);
		if (which < 0 && errno != EINTR) {
			tracees->ended = true;
			return TRACEE_GONE;
		}
		if (which > 0)
			settle(tracees, which, status);
		if (tracees->ended || tracees->replaced || !find(tracees, tid))
			return TRACEE_GONE;
		/* look at the clock only if the thread's turn is not at once */
		if (!end_ms)
			end_ms = clock_monotonic_ms() + ms;
		if (*tracees->stop || clock_monotonic_ms() >= end_ms)
			return TRACEE_NOTHING;
	}
}

/* Does it sleep, without a breakpoint or trap of ours that would kill it after we detach? A thread
 * in a stop not yet seen may be at a trap of ours. */
static bool can_be_left(const struct tracees *tracees, const struct tracee_thread *thread)
{
	char state = thread_state(tracees->pid, thread->tid);

	return !thread->stepping && !thread->breakpoints && !thread->asked &&
	       (state == 'S' || state == 'D');
}

/*
 * Stop the thread, which runs, in a state without any of our breakpoints or pending traps. Returns
 * the last event.
 */
static enum tracee_event stop_clean(struct tracees *tracees, pid_t tid, int *ret_signal)
{
	enum tracee_event event;

	if (!tracees_interrupt(tracees, tid))
		return TRACEE_GONE;
	do {
		event = tracees_wait(tracees, tid, LEAVE_MS, ret_signal);
		if (event == TRACEE_NOTHING || event == TRACEE_GONE)
			return event;
		tracees_break_at(tracees, tid, NULL, 0);
		/* the requested stop may arrive before an earlier trap */
	} while (event != TRACEE_SIGNALLED && tracee_has_trap(tid) &&
		 tracees_go(tracees, tid, TRACEE_RUN, 0));
	return event;
}

/* Lets go of a thread. */
static void leave_thread(struct tracees *tracees, pid_t tid)
{
	struct tracee_thread *thread = find(tracees, tid);
	enum tracee_event event = TRACEE_STOPPED;
	int number = 0;

	/* a stopped thread's pending trap can only be seen after it goes on */
	if (thread->stopped && !tracees_go(tracees, tid, TRACEE_RUN, 0))
		return;
	if (can_be_left(tracees, thread))
		return;
	event = stop_clean(tracees, tid, &number);
	if (event == TRACEE_NOTHING || event == TRACEE_GONE)
		return;
	tracee_go(tid, TRACEE_LEAVE, event == TRACEE_SIGNALLED ? number : 0);
	forget(tracees, tid);
}

void tracees_leave(struct tracees *tracees)
{
	static const volatile sig_atomic_t never = 0;

	tracees->stop = &never; /* the end is wanted: it is what we are about */
	/* new threads may arrive meanwhile: those left alone stay in the list */
	for (size_t i = tracees->nr; i-- > 0;)
		if (i < tracees->nr)
			leave_thread(tracees, tracees->threads[i].tid);
	tick(false);
	free(tracees->threads);
	tracees->threads = NULL;
	tracees->nr = tracees->room = 0;
}
