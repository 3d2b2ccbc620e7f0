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

/* The words of the key of a sample of a wait at a lock; the others are 0. */
enum fpl_lock_word {
	FPL_LOCK_ADDR,	 /* as in struct fpl_lock_key */
	FPL_LOCK_PLACE,	 /* as a frame: the object that may have it, and its vaddr there. Userspace
			    fills it in; 0: not known */
	FPL_LOCK_MEMORY, /* enum fpl_lock_memory, where it is in no object */
	FPL_LOCK_WAKER,	 /* as in struct fpl_thread_times */
};

enum fpl_lock_memory {
	FPL_LOCK_ANON,
	FPL_LOCK_HEAP,	/* what malloc() takes first */
	FPL_LOCK_STACK, /* of the first thread, or of the one that waits */
};
