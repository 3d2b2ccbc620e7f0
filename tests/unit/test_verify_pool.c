/* SPDX-License-Identifier: Apache-2.0 */
#include "cmocka_all.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "verify/verify_pool.h"

enum { NR_JOBS = 40 };

/* Does what the path says, as a hostile file would make libdw do. */
static void judge(const char *path, struct report *ret)
{
	memset(ret, 0, sizeof(*ret));
	if (strcmp(path, "die") == 0)
		raise(SIGKILL);
	if (strcmp(path, "leave") == 0)
		_exit(3);
	while (strcmp(path, "hang") == 0)
		pause();
	ret->status = REPORT_DONE;
	ret->pcs = strlen(path);
}

#define PATIENCE_NS (60 * NS_PER_S)

struct pool_run {
	size_t nr_done, nr_hanging; /* jobs; those that hang come first */
	struct verify_pool_options options;
};

/* A file that hangs is given up soon, and one that does not is given the time that a busy machine
 * needs. */
static void count_done(struct verify_job *job, void *ctx)
{
	struct pool_run *run = ctx;

	assert_non_null(job->report);
	if (++run->nr_done == run->nr_hanging)
		run->options.timeout_ns = PATIENCE_NS;
}

static void run(struct verify_job *jobs, size_t nr, unsigned int nr_workers, size_t nr_hanging)
{
	struct pool_run run = {
		.nr_hanging = nr_hanging,
		.options = {
			.nr_workers = nr_workers,
			.timeout_ns = nr_hanging ? 200 * NS_PER_MS : PATIENCE_NS,
			.judge = judge,
			.done = count_done,
			.ctx = &run,
		},
	};
	struct fpl_err err = { 0 };

	if (verify_pool_run(jobs, nr, &run.options, &err) != 0)
		fail_msg("%s", err.msg);
	assert_int_equal(run.nr_done, nr);
}

static void free_reports(struct verify_job *jobs, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free(jobs[i].report);
}

static void every_job_gets_its_own_report(void **state)
{
	static const char long_name[] = "0123456789012345678901234567890123456789";

	(void)state;
	for (unsigned int nr_workers = 1; nr_workers <= 3; nr_workers++) {
		struct verify_job jobs[NR_JOBS] = { 0 };

		for (size_t i = 0; i < NR_JOBS; i++)
			jobs[i].path = long_name + i;
		run(jobs, NR_JOBS, nr_workers, 0);
		for (size_t i = 0; i < NR_JOBS; i++) {
			assert_int_equal(jobs[i].report->status, REPORT_DONE);
			assert_int_equal(jobs[i].report->pcs, NR_JOBS - i);
		}
		free_reports(jobs, NR_JOBS);
	}
}

static void a_worker_that_dies_costs_one_file(void **state)
{
	struct verify_job jobs[] = { { "good", NULL }, { "die", NULL },	  { "good", NULL },
				     { "die", NULL },  { "leave", NULL }, { "good", NULL } };

	(void)state;
	run(jobs, ARRAY_SIZE(jobs), 2, 0);
	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		bool good = strcmp(jobs[i].path, "good") == 0;

		assert_int_equal(jobs[i].report->status, good ? REPORT_DONE : REPORT_FAILED);
		if (!good)
			assert_memory_equal(jobs[i].report->message, jobs[i].path,
					    strlen(jobs[i].path));
	}
	assert_non_null(strstr(jobs[1].report->message, strsignal(SIGKILL)));
	assert_non_null(strstr(jobs[4].report->message, "status 3"));
	free_reports(jobs, ARRAY_SIZE(jobs));
}

static void a_worker_that_hangs_is_given_up(void **state)
{
	struct verify_job jobs[] = { { "hang", NULL }, { "hang", NULL }, { "good", NULL } };

	(void)state;
	run(jobs, ARRAY_SIZE(jobs), 1, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(jobs[i].report->status, REPORT_FAILED);
		assert_non_null(strstr(jobs[i].report->message, "not judged within 0.2 s"));
	}
	assert_int_equal(jobs[2].report->status, REPORT_DONE);
	free_reports(jobs, ARRAY_SIZE(jobs));
}

static void no_jobs_are_done_at_once(void **state)
{
	(void)state;
	run(NULL, 0, 2, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_job_gets_its_own_report),
		cmocka_unit_test(a_worker_that_dies_costs_one_file),
		cmocka_unit_test(a_worker_that_hangs_is_given_up),
		cmocka_unit_test(no_jobs_are_done_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
