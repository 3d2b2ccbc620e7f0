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

/* Have the kernel call the iterator for each thread. */
static int run_iterator(const struct fpless_bpf *skel, struct fpl_err *err)
{
	struct bpf_link *link = bpf_program__attach_iter(skel->progs.each_thread, NULL);
	AUTO_FD int fd = link ? bpf_iter_create(bpf_link__fd(link)) : -1;
	int code = fd < 0 ? -errno : 0;
	char none[64];
	ssize_t size;

	/* it writes nothing, and ends when all threads have been visited */
	do {
		size = fd < 0 ? 0 : read(fd, none, sizeof(none));
		if (size < 0 && errno != EAGAIN && errno != EINTR)
			code = -errno;
	} while (!code && size);
	bpf_link__destroy(link);
	return code ? fpl_fail(err, -EOPNOTSUPP, "threads cannot be listed by the kernel: %s",
			       strerror(-code))
		    : 0;
}

int thread_times_begin(const struct fpless_bpf *skel, struct fpl_err *err)
{
	return thread_times_are_kept(skel) ? run_iterator(skel, err) : 0;
}

void thread_times_stop(const struct fpless_bpf *skel)
{
	__atomic_store_n(&skel->bss->times_end_ns, clock_monotonic_ns(), __ATOMIC_SEQ_CST);
}

int thread_times_close(const struct fpless_bpf *skel, struct fpl_times *ret, struct fpl_err *err)
{
	int code = 0;

	if (thread_times_are_kept(skel)) {
		__atomic_store_n(&skel->bss->times_are_over, 1, __ATOMIC_SEQ_CST);
		code = run_iterator(skel, err);
	}
	*ret = skel->bss->times;
	return code;
}
