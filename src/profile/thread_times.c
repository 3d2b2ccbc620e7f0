/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/thread_times.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "fpless.skel.h"

/* Were the programs loaded that keep the books? */
static bool are_kept(const struct fpless_bpf *skel)
{
	return bpf_program__autoload(skel->progs.each_thread);
}

/* The iterator writes so much for each thread that it samples (bpf/sleeper.h), so a read of a few
 * of these ends when a few copies of stacks are in the ring. */
#define SLEEPERS_AT_ONCE 2u

#define AGAIN_MAX 3 /* passes after the first one */

static void set_pass(const struct fpless_bpf *skel, enum fpl_times_pass pass)
{
	__atomic_store_n(&skel->bss->times_pass, pass, __ATOMIC_SEQ_CST);
}

/* Have the kernel call the iterator for each thread. @end: NULL: nothing is sampled. */
static int run_iterator(const struct fpless_bpf *skel, const struct thread_times_end *end,
			struct fpl_err *err)
{
	struct bpf_link *link = bpf_program__attach_iter(skel->progs.each_thread, NULL);
	AUTO_FD int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	uint64_t sampled[SLEEPERS_AT_ONCE];
	ssize_t size = 1;

	while (fd >= 0 && size > 0) {
		size = read(fd, sampled, sizeof(sampled));
		if (size < 0 && (errno == EAGAIN || errno == EINTR))
			size = 1;
		else if (size > 0 && end)
			end->pause(end->ctx);
	}

	int code = fd < 0 || size < 0 ? -errno : 0;

	bpf_link__destroy(link);
	return code ? fpl_fail(err, -EOPNOTSUPP, "the kernel does not list its threads: %s",
			       strerror(-code))
		    : 0;
}

int thread_times_begin(const struct fpless_bpf *skel, struct fpl_err *err)
{
	const struct fpl_times *times = &skel->bss->times;
	int code = 0;

	/* A thread is left out that is forked, in a place that was visited, by one that was not;
	 * and one that is forked on the CPU where the iterator was interrupted while it made books.
	 */
	for (int i = 0; are_kept(skel) && code == 0 && i <= AGAIN_MAX; i++) {
		set_pass(skel, i ? FPL_TIMES_BEGIN_AGAIN : FPL_TIMES_BEGIN);
		code = run_iterator(skel, NULL, err);
		if (i && __atomic_load_n(&times->threads_without, __ATOMIC_SEQ_CST) <=
				 skel->bss->times_without)
			break;
	}
	return code;
}

void thread_times_stop(const struct fpless_bpf *skel)
{
	__atomic_store_n(&skel->bss->times_end_ns, clock_monotonic_ns(), __ATOMIC_SEQ_CST);
}

/* Threads whose books are not closed yet. */
static uint64_t nr_open(const struct fpless_bpf *skel)
{
	const struct fpl_times *times = &skel->bss->times;

	return __atomic_load_n(&times->begun, __ATOMIC_SEQ_CST) -
	       __atomic_load_n(&times->threads, __ATOMIC_SEQ_CST);
}

int thread_times_close(const struct fpless_bpf *skel, const struct thread_times_end *end,
		       uint64_t *nr_left, struct fpl_err *err)
{
	if (!are_kept(skel))
		return 0;
	set_pass(skel, FPL_TIMES_CLOSE);

	int code = run_iterator(skel, end, err);

	/* threads that were exiting: their last switch closes their books. Some switches are told
	 * to no program: no cut waits twice for one. */
	if (end->is_last)
		*nr_left = 0;
	for (uint64_t ms = 0; !code && ms < end->wait_ms && nr_open(skel) > *nr_left; ms++)
		nanosleep(&(struct timespec){ .tv_nsec = NS_PER_MS }, NULL);
	*nr_left = nr_open(skel);
	skel->bss->times_without = skel->bss->times.threads_without;
	if (!code && end->is_last && *nr_left)
		fpl_log(FPL_LOG_WARN,
			"%" PRIu64 " threads are still exiting: their time is not in the sums",
			*nr_left);
	return code;
}

struct fpl_times thread_times_sums(const struct fpless_bpf *skel)
{
	return skel->bss->times;
}
