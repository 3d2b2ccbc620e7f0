// SPDX-License-Identifier: Apache-2.0
/* The side-band of this kernel: a mapping wakes a reader that sleeps, and no other. */
#include "tests/unit/cmocka_all.h"

#include <poll.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proc/sideband.h"

#define NR_ROUNDS 200 /* of one page each: more than the buffer of the alarm has room for */

static struct sideband *sideband;

/* Other processes make mappings, too, which may wake the reader. */
static bool is_woken(int timeout_ms)
{
	struct pollfd alarm = { .fd = sideband_fd(sideband, 0, SIDEBAND_FD_ALARM),
				.events = POLLIN };

	return poll(&alarm, 1, timeout_ms) == 1 && (alarm.revents & POLLIN);
}

static void *map_code(void)
{
	void *addr = mmap(NULL, (size_t)getpagesize(), PROT_READ | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(addr, MAP_FAILED);
	return addr;
}

struct wanted {
	uintptr_t addr;
	bool is_found;
};

static void look(const struct sideband_record *record, void *ctx)
{
	struct wanted *wanted = ctx;

	if (record->type == SIDEBAND_MAP && record->pid == (uint32_t)getpid() &&
	    record->start == wanted->addr)
		wanted->is_found = true;
}

static bool has_record(void *addr)
{
	struct wanted wanted = { .addr = (uintptr_t)addr };

	assert_int_equal(sideband_drain(sideband, look, &wanted), 0);
	return wanted.is_found;
}

static void each_mapping_wakes_a_reader_that_sleeps(void **state)
{
	(void)state;
	for (int i = 0; i < NR_ROUNDS; i++) {
		void *addr;

		sideband_arm(sideband);
		addr = map_code();
		assert_true(is_woken(10000));
		assert_true(has_record(addr));
		sideband_disarm(sideband);
		munmap(addr, (size_t)getpagesize());
	}
}

static void no_mapping_wakes_a_reader_that_is_awake(void **state)
{
	(void)state;
	sideband_disarm(sideband);
	while (is_woken(0))
		;
	for (int i = 0; i < NR_ROUNDS; i++) {
		void *addr = map_code();

		assert_false(is_woken(0));
		assert_true(has_record(addr));
		munmap(addr, (size_t)getpagesize());
	}
}

static void what_came_before_is_told_when_it_goes_to_sleep(void **state)
{
	void *addr = map_code();
	int nr_tries = 0;

	(void)state;
	assert_false(sideband_arm(sideband));
	assert_true(has_record(addr));
	while (!sideband_arm(sideband)) { /* others have made mappings */
		assert_true(nr_tries++ < 100000);
		has_record(addr);
	}
	munmap(addr, (size_t)getpagesize());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_mapping_wakes_a_reader_that_sleeps),
		cmocka_unit_test(no_mapping_wakes_a_reader_that_is_awake),
		cmocka_unit_test(what_came_before_is_told_when_it_goes_to_sleep),
	};
	struct fpl_err err = { 0 };
	int cpu = sched_getcpu(), code;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		return 77;
	if (sideband_open(&cpu, 1, false, &sideband, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 77;
	}
	code = cmocka_run_group_tests(tests, NULL, NULL);
	sideband_close(sideband);
	return code;
}
