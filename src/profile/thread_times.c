/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/thread_times.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "fpless.skel.h"

bool thread_times_are_kept(const struct fpless_bpf *skel)
{
	return bpf_program__autoload(skel->progs.each_thread);
}

/* The iterator writes so much for each thread that it samples (bpf/sleeper.h), so a read of a few
 * of these ends when a few copies of stacks are in the ring. */
#define SLEEPERS_AT_ONCE 2u

/* Have the kernel call the iterator for each thread. @pause: as of thread_times_close; NULL:
 * nothing is sampled. */
static int run_iterator(const struct fpless_bpf *skel, void (*pause)(void *ctx), void *ctx,
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
		else if (size > 0 && pause)
			pause(ctx);
	}

	int code = fd < 0 || size < 0 ? -errno : 0;

	bpf_link__destroy(link);
	return code ? fpl_fail(err, -EOPNOTSUPP, "the kernel does not list its threads: %s",
			       strerror(-code))
		    : 0;
}

int thread_times_begin(const struct fpless_bpf *skel, struct fpl_err *err)
{
	return thread_times_are_kept(skel) ? run_iterator(skel, NULL, NULL, err) : 0;
}

void thread_times_stop(const struct fpless_bpf *skel)
{
	__atomic_store_n(&skel->bss->times_end_ns, clock_monotonic_ns(), __ATOMIC_SEQ_CST);
}

int thread_times_close(const struct fpless_bpf *skel, void (*pause)(void *ctx), void *ctx,
		       struct fpl_err *err)
{
	if (!thread_times_are_kept(skel))
		return 0;
	__atomic_store_n(&skel->bss->times_are_over, 1, __ATOMIC_SEQ_CST);
	return run_iterator(skel, pause, ctx, err);
}

struct fpl_times thread_times_sums(const struct fpless_bpf *skel)
{
	return skel->bss->times;
}
