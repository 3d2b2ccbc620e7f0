/* SPDX-License-Identifier: Apache-2.0 */
/* The functions around a futex tell what is waited for, and a table of locks is made of that. */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "format/lock_kind.h"
#include "format/lock_table.h"
#include "recording/must_add.h"

static void functions_tell_what_is_waited_for(void **state)
{
	static const struct {
		const char *name, *object;
		enum lock_kind kind;
		bool is_inner;
	} cases[] = {
		{ "pthread_mutex_lock", "libc.so.6", LOCK_KIND_MUTEX, true },
		{ "___pthread_mutex_lock", "prog", LOCK_KIND_MUTEX, true }, /* static */
		{ "__lll_lock_wait", "libpthread.so.0", LOCK_KIND_MUTEX, true },
		{ "pthread_rwlock_wrlock", "libc.so.6", LOCK_KIND_RWLOCK, true },
		{ "pthread_cond_timedwait", "libc.so.6", LOCK_KIND_COND, true },
		{ "__new_sem_wait_slow64.constprop.0", "libc.so.6", LOCK_KIND_SEM, true },
		{ "__pthread_clockjoin_ex", "libc.so.6", LOCK_KIND_JOIN, true },
		{ "pthread_barrier_wait", "libc.so.6", LOCK_KIND_BARRIER, true },
		{ "__cxa_guard_acquire", "libstdc++.so.6", LOCK_KIND_ONCE, true },
		{ "futex_wait", "libc.so.6", LOCK_KIND_NONE, true },
		{ "", "libc.so.6", LOCK_KIND_LIBC, true },
		{ "", "ld-musl-x86_64.so.1", LOCK_KIND_LIBC, true },
		{ "", "prog", LOCK_KIND_NONE, false },
		{ "worker", "prog", LOCK_KIND_NONE, false },
		{ "MyMutex::wait", "prog", LOCK_KIND_NONE, false },
		{ "std::mutex::lock", "prog", LOCK_KIND_MUTEX, true },
		{ "std::shared_mutex::lock", "prog", LOCK_KIND_RWLOCK, true },
		{ "std::condition_variable::wait", "libstdc++.so.6", LOCK_KIND_COND, true },
		{ "std::sys::sync::mutex::futex::Mutex::lock_contended", "prog", LOCK_KIND_MUTEX,
		  true },
		{ "std::sys::sync::condvar::futex::Condvar::wait", "prog", LOCK_KIND_COND, true },
		{ "std::sync::poison::rwlock::RwLock<T>::read", "prog", LOCK_KIND_RWLOCK, true },
		{ "parking_lot::raw_mutex::RawMutex::lock_slow", "prog", LOCK_KIND_MUTEX, true },
		{ "parking_lot::raw_rwlock::RawRwLock::lock_shared_slow", "prog", LOCK_KIND_RWLOCK,
		  true },
		{ "parking_lot_core::parking_lot::park", "prog", LOCK_KIND_NONE, true },
		{ "std::thread::park", "prog", LOCK_KIND_PARK, true },
		{ "absl::lts_20220623::Mutex::Lock", "prog", LOCK_KIND_MUTEX, true },
		{ "runtime.futex.abi0", "prog", LOCK_KIND_NONE, true },
		{ "runtime.lock2", "prog", LOCK_KIND_MUTEX, true },
		{ "runtime.notesleep", "prog", LOCK_KIND_PARK, true },
		{ "runtime.findRunnable", "prog", LOCK_KIND_NONE, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct lock_function got = lock_function_of(cases[i].name, cases[i].object);

		if (got.kind != cases[i].kind || got.is_inner != cases[i].is_inner)
			fail_msg("%s: %s, %d", cases[i].name, lock_kind_word(got.kind),
				 got.is_inner);
	}
}

/* "name@object" as a frame, of a script where the object is in brackets; without one it is a word.
 */
static uint32_t frame_of(struct recording *recording, const char *text)
{
	const char *at = strchr(text, '@');
	size_t len = at ? (size_t)(at - text) : strlen(text);
	char name[64];
	struct recording_function function = { 0 };
	struct recording_line line = { 0 };
	struct recording_object object = { 0 };
	struct recording_frame frame = {
		.address = at ? 0x1000 : RECORDING_NO_ADDRESS,
		.start = RECORDING_NO_ADDRESS,
		.origin = RECORDING_NO_ORIGIN,
		.nr_lines = 1,
	};

	snprintf(name, sizeof(name), "%.*s", (int)len, text);
	function.name = must_add_text(recording, name);
	line.function = must_add_function(recording, &function);
	if (at && at[1] == '[')
		frame.origin = FPL_ORIGIN_SCRIPT;
	if (at) {
		object.path = must_add_text(recording, at + 1);
		frame.object = must_add_object(recording, &object);
	}
	return must_add_frame(recording, &frame, &line);
}

/* @frames: separated by blanks, as a recording has them: those of who ended the wait first. */
static void add_stack(struct recording *recording, const char *lock, uint64_t ns,
		      const char *frames)
{
	uint32_t ids[16];
	char text[512], *rest = NULL;
	struct recording_stack stack = {
		.count = 1,
		.weight = ns,
		.has = RECORDING_HAS_COMM | RECORDING_HAS_KEY,
		.stop = FPL_STOP_OUTERMOST,
		.comm = must_add_text(recording, "prog"),
		.key = must_add_text(recording, lock),
	};

	snprintf(text, sizeof(text), "%s", frames);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		ids[stack.nr_user++] = frame_of(recording, word);
	must_add_stack(recording, &stack, ids);
}

static void make_recording(struct recording *recording)
{
	assert_int_equal(recording_init(recording), 0);
	recording->key = must_add_text(recording, "lock");
	recording->weight_type = must_add_text(recording, "blocked");
	recording->weight_unit = must_add_text(recording, "nanoseconds");
	add_stack(recording, "g_lock", 30000000,
		  "[thread] run_b@/p unlock@/p pthread_mutex_unlock@/libc.so.6 -- "
		  "futex_wait@/libc.so.6 pthread_mutex_lock@/libc.so.6 lock@/p run_a@/p");
	add_stack(recording, "g_lock", 10000000,
		  "[irq] -- futex_wait@/libc.so.6 pthread_mutex_lock@/libc.so.6 lock@/p run_c@/p");
	/* a condition variable that takes its mutex again */
	add_stack(recording, "g_lock", 10000000,
		  "[thread] run_b@/p unlock@/p pthread_mutex_unlock@/libc.so.6 -- "
		  "__lll_lock_wait@/libc.so.6 pthread_cond_wait@/libc.so.6 idle@/p");
	add_stack(recording, "g_queue+0x28", 900000000,
		  "futex_wait@/libc.so.6 pthread_cond_wait@/libc.so.6 idle@/p");
	/* the script says more than the interpreter */
	add_stack(recording, "[heap]", 20000000,
		  "[thread] main@/py give@[python] sem_post@/libc.so.6 -- "
		  "sem_wait@/libc.so.6 acquire@/py take@[python] main@/py");
	must_add_number(recording, "locks[]", 0);
	must_set_note(recording, "locks[].0.lock", "g_lock");
	must_add_number(recording, "locks[].0.wait_ns", 55000000);
	must_add_number(recording, "locks[].0.waits", 77);
	must_add_number(recording, "locks_others.wait_ns", 1000000);
	must_add_number(recording, "locks_others.waits", 3);
}

static void locks_stand_above_threads_that_are_idle(void **state)
{
	static const char wanted[] =
		"\nLocks (who waited, and who ended it)\n\n"
		"      waited     waits  kind       lock\n"
		"     55.0 ms        77  mutex      g_lock\n"
		"      60.0%     30.0 ms  lock\n"
		"                          ended by unlock\n"
		"      20.0%     10.0 ms  lock\n"
		"                          ended by [irq]\n"
		"      20.0%     10.0 ms  idle\n"
		"                          ended by unlock\n"
		"\nOther waits at futexes: idle threads are among them\n\n"
		"      waited     waits  kind       at\n"
		"    900.0 ms            condvar    g_queue+0x28\n"
		"     100.0%    900.0 ms  idle\n"
		"                          ended by [not ended]\n"
		"     20.0 ms            semaphore  [heap]\n"
		"     100.0%     20.0 ms  take\n"
		"                          ended by give\n"
		"\n      1.0 ms         3  at other locks: none of their waits was sampled, or there was no room\n";
	CLEANUP(recording_fini) struct recording recording = { 0 };
	CLEANUP(frame_texts_fini) struct frame_texts texts = { 0 };
	AUTO_FREE char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	assert_non_null(to);
	make_recording(&recording);
	assert_true(lock_table_fits(&recording));
	frame_texts_init(&recording, &(struct frame_text_options){ .annotate = false }, &texts);
	lock_table_write(to, &texts);
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text, wanted);
}

static void a_recording_of_something_else_has_no_table(void **state)
{
	CLEANUP(recording_fini) struct recording recording = { 0 };

	(void)state;
	assert_int_equal(recording_init(&recording), 0);
	assert_false(lock_table_fits(&recording));
	recording.key = must_add_text(&recording, "wakee");
	assert_false(lock_table_fits(&recording));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_tell_what_is_waited_for),
		cmocka_unit_test(locks_stand_above_threads_that_are_idle),
		cmocka_unit_test(a_recording_of_something_else_has_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
