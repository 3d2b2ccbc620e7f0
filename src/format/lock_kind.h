/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that lead to a futex tell what a thread waits for: those of C libraries, Go and
 * Rust. Where two names match, as in a condition variable that takes its mutex again, the
 * innermost tells.
 */
#pragma once

#include <stdbool.h>

/* X(name, word, is_lock): a lock is held by a thread; others say that something has happened. The
 * table of locks has the former first. LIBC: a function of the C library without a name, as those
 * that sem_wait() and pthread_join() become; NONE: a futex of the program's own. */
#define LOCK_KIND_LIST(X)            \
	X(NONE, "futex", true)       \
	X(MUTEX, "mutex", true)      \
	X(RWLOCK, "rwlock", true)    \
	X(ONCE, "once", true)        \
	X(SEM, "semaphore", false)   \
	X(COND, "condvar", false)    \
	X(BARRIER, "barrier", false) \
	X(JOIN, "join", false)       \
	X(PARK, "park", false)       \
	X(LIBC, "unknown", false)

#define X(name, word, is_lock) LOCK_KIND_##name,
enum lock_kind { LOCK_KIND_LIST(X) LOCK_KIND_COUNT };
#undef X

/* A function, seen on the way from a futex to whoever waits there. */
struct lock_function {
	enum lock_kind kind; /* LOCK_KIND_NONE: it does not tell */
	bool is_inner;	     /* it is part of the library: its caller is who waits */
};

/* @name: the function's, @object: the last part of the path of its object; "": not known. */
struct lock_function lock_function_of(const char *name, const char *object);

const char *lock_kind_word(enum lock_kind kind);
bool lock_kind_is_lock(enum lock_kind kind);
