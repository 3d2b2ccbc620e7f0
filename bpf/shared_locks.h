/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of bpf/shared.h about locks that threads wait at, which that header includes. */
#pragma once

#include <linux/types.h>

/* Key and value of the hash map `locks`: the waits at one, exactly. */
struct fpl_lock_key {
	__u64 addr; /* of the futex in its process; FPL_LOCK_SEVERAL: it waited at more than one */
	__u32 tgid;
	__u32 _pad;
};

struct fpl_lock {
	__u64 ns, nr;
};

#define FPL_LOCKS_MAX	     16384u
#define FPL_LOCK_SEVERAL     1ull
#define FPL_LOCK_STACK_REACH (1ull << 27) /* bytes: no other memory is that near a first stack */

/*
 * The words of the key of a wait's sample, FPL_KEY_MAX of them; the others are 0. The first three
 * are those of a wait at a lock. A sample of who ended a wait has the name of the thread that it
 * woke up in the first two.
 */
enum fpl_wait_word {
	FPL_WAIT_ADDR,	 /* as in struct fpl_lock_key */
	FPL_WAIT_PLACE,	 /* as a frame: the object that may have it, and its vaddr there. Userspace
			    fills it in; 0: not known */
	FPL_WAIT_MEMORY, /* enum fpl_lock_memory, where it is in no object */
	FPL_WAIT_LINKS = 4, /* __u32[FPL_LINKS_MAX], with config.nr_links */
};

/*
 * Links of a key: ids of records with FPL_SAMPLE_WAKER. The first is who ended the wait, the next
 * who ended that thread's last wait before it, and so on. 0: the thread before has not been woken
 * up yet, or there are no more than config.nr_links. Where stacks of pairs are kept (bpf/kept.h),
 * the sample's own stack comes before them; 0: the sample has it itself.
 */
#define FPL_LINKS_MAX 4u

#define FPL_LINK_END	   0xfffffff0u /* the one before is an interrupt: it does not wait */
#define FPL_LINK_STRANGER  0xfffffff1u /* the one before is no target: its waits are not known */
#define FPL_LINK_UNSAMPLED 0xfffffff2u /* no sample was taken of that wait */
#define FPL_LINK_LOST	   0xfffffff3u /* the stack was lost */

static inline __attribute__((__always_inline__)) int fpl_link_is_stack(__u32 link)
{
	return link && link < FPL_LINK_END;
}

enum fpl_lock_memory {
	FPL_LOCK_ANON,
	FPL_LOCK_HEAP,	/* what malloc() takes first */
	FPL_LOCK_STACK, /* of the first thread, or of the one that waits */
};
