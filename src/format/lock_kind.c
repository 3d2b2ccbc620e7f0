/* SPDX-License-Identifier: Apache-2.0 */
#include "format/lock_kind.h"

#include <stddef.h>
#include <string.h>

#include "base/cleanup.h"

/* Beginnings of names of C, without the underscores in front of them. Aliases and clones of the
 * compiler have these, too. */
static const struct {
	const char *begin;
	enum lock_kind kind;
} begins[] = {
	{ "pthread_mutex_", LOCK_KIND_MUTEX },
	{ "lll_lock_wait", LOCK_KIND_MUTEX },
	{ "mtx_", LOCK_KIND_MUTEX },
	{ "pthread_rwlock_", LOCK_KIND_RWLOCK },
	{ "pthread_once", LOCK_KIND_ONCE },
	{ "cxa_guard_acquire", LOCK_KIND_ONCE },
	{ "pthread_cond_", LOCK_KIND_COND },
	{ "cnd_", LOCK_KIND_COND },
	{ "sem_", LOCK_KIND_SEM },
	{ "new_sem_", LOCK_KIND_SEM },
	{ "pthread_barrier_wait", LOCK_KIND_BARRIER },
	{ "pthread_join", LOCK_KIND_JOIN },
	{ "pthread_clockjoin", LOCK_KIND_JOIN },
	{ "pthread_timedjoin", LOCK_KIND_JOIN },
	{ "thrd_join", LOCK_KIND_JOIN },
	/* runtime/lock_futex.go, runtime/proc.go */
	{ "runtime.lock", LOCK_KIND_MUTEX },
	{ "runtime.notesleep", LOCK_KIND_PARK },
	{ "runtime.notetsleep", LOCK_KIND_PARK },
	{ "runtime.mPark", LOCK_KIND_PARK },
	{ "runtime.semasleep", LOCK_KIND_NONE },
	{ "runtime.stopm", LOCK_KIND_PARK },
	{ "runtime.futex", LOCK_KIND_NONE },
	{ "runtime.unlock", LOCK_KIND_NONE },
	{ "runtime.notewakeup", LOCK_KIND_NONE },
	{ "runtime.semawakeup", LOCK_KIND_NONE },
	{ "lll_", LOCK_KIND_NONE },
	{ "futex_", LOCK_KIND_NONE },
	{ "syscall", LOCK_KIND_NONE },
	{ "timedwait", LOCK_KIND_NONE },
};

/* Beginnings of names of the C library's files. */
static const char *const c_libraries[] = { "libc.so", "libc-", "libpthread", "ld-linux",
					   "ld-musl" };

/* Parts of names of C++ and Rust, the surest first. */
static const struct {
	const char *part;
	enum lock_kind kind;
} parts[] = {
	{ "Condvar::", LOCK_KIND_COND },
	{ "CondVar::", LOCK_KIND_COND },
	{ "condition_variable", LOCK_KIND_COND },
	{ "condvar::", LOCK_KIND_COND },
	{ "RwLock", LOCK_KIND_RWLOCK },
	{ "rwlock::", LOCK_KIND_RWLOCK },
	{ "shared_mutex", LOCK_KIND_RWLOCK },
	{ "Mutex::", LOCK_KIND_MUTEX },
	{ "mutex::", LOCK_KIND_MUTEX },
	{ "Once::", LOCK_KIND_ONCE },
	{ "once::", LOCK_KIND_ONCE },
	{ "call_once", LOCK_KIND_ONCE },
	{ "thread::park", LOCK_KIND_PARK },
	{ "Parker::", LOCK_KIND_PARK },
	{ "parking::", LOCK_KIND_PARK },
	{ "Semaphore::", LOCK_KIND_SEM },
};

/* Beginnings of names in the libraries of these languages. */
static const char *const inner[] = {
	"std::",  "core::", "parking_lot::", "parking_lot_core::", "lock_api::",
	"absl::", "<std::", "<core::",	     "<parking_lot",	   "<lock_api::",
};

/* Beginnings of names of their files. */
static const char *const libraries[] = { "libstdc++.so", "libc++.so" };

static bool begins_with(const char *text, const char *begin)
{
	return !strncmp(text, begin, strlen(begin));
}

static bool begins_with_one(const char *text, const char *const *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (begins_with(text, list[i]))
			return true;
	return false;
}

struct lock_function lock_function_of(const char *name, const char *object)
{
	const char *bare = name + strspn(name, "_");
	bool is_libc = begins_with_one(object, c_libraries, ARRAY_SIZE(c_libraries));
	struct lock_function ret = {
		.kind = is_libc && !*name ? LOCK_KIND_LIBC : LOCK_KIND_NONE,
		.is_inner = is_libc || begins_with_one(object, libraries, ARRAY_SIZE(libraries)) ||
			    begins_with_one(name, inner, ARRAY_SIZE(inner)),
	};

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (begins_with(bare, begins[i].begin))
			return (struct lock_function){ begins[i].kind, true };
	/* a function of the program may be called so, too: only a library's tells */
	for (size_t i = 0; ret.is_inner && i < ARRAY_SIZE(parts); i++)
		if (strstr(name, parts[i].part)) {
			ret.kind = parts[i].kind;
			break;
		}
	return ret;
}

const char *lock_kind_word(enum lock_kind kind)
{
	static const char *const words[] = {
#define X(name, word, is_lock) word,
		LOCK_KIND_LIST(X)
#undef X
	};

	return words[kind < LOCK_KIND_COUNT ? kind : LOCK_KIND_NONE];
}

bool lock_kind_is_lock(enum lock_kind kind)
{
	static const bool locks[] = {
#define X(name, word, is_lock) is_lock,
		LOCK_KIND_LIST(X)
#undef X
	};

	return locks[kind < LOCK_KIND_COUNT ? kind : LOCK_KIND_NONE];
}
