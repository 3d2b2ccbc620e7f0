/* SPDX-License-Identifier: Apache-2.0 */
/* Questions for the kernel, and the trial. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "doctor/checkup.h"
#include "parse/parser.h"
#include "profile/engine.h"
#include "profile/kernel_side.h"
#include "profile/source.h"

#define TRIAL_MS 250
#define TRIAL_HZ 199 /* some 50 samples of one thread */

void checkup_probe(struct probes *ret)
{
	struct source_spec clock = source_spec_cpu_clock(), cycles = source_spec_default();
	struct kernel_side_object object = { 0 };

	*ret = (struct probes){ 0 };
	features_probe(&ret->features);
	ret->clock = source_try(&clock);
	ret->cycles = source_try(&cycles);
	ret->waits = source_blocked_way();
	ret->object.error = kernel_side_object(&object);
	ret->object.version = object.version;
	ret->object.wanted_version = FPL_SHARED_VERSION;
	ret->object.nr_programs = object.nr_programs;
	ret->object.nr_maps = object.nr_maps;
}

/* Keep a CPU busy, so that there is something to sample. */
static void *spin(void *ctx)
{
	atomic_bool *stop = ctx;

	while (!atomic_load_explicit(stop, memory_order_relaxed))
		;
	return NULL;
}

static void count_samples(const struct profile *profile, struct trial *trial)
{
	for (size_t i = 0; i < profile->nr_stacks; i++) {
		const struct profile_stack *stack = &profile->stacks[i];

		trial->nr_samples += stack->count;
		if (stack->stop == FPL_STOP_OUTERMOST)
			trial->nr_complete += stack->count;
	}
}

void checkup_try(const struct host *host, struct trial *ret)
{
	int64_t rate = host->sysctls[HOST_SYSCTL_MAX_SAMPLE_RATE];
	const pid_t self = getpid();
	struct engine_options options = {
		.target = ENGINE_TARGET_PIDS,
		.pids = &self,
		.nr_pids = 1,
		.sources = { source_spec_default() },
		.nr_sources = 1,
		.hz = rate >= 1 && rate < TRIAL_HZ ? (uint64_t)rate : TRIAL_HZ,
		.duration_ms = TRIAL_MS,
		.max_depth = FPL_DEPTH_MAX,
		.table_memory = 8 << 20,
		.snapshot_bytes = 96 << 10,
	};
	struct trial trial = { .hz = options.hz };
	struct profile profile;
	struct fpl_err err = { 0 };
	atomic_bool stop = false;
	pthread_t thread;
	bool has_thread = pthread_create(&thread, NULL, spin, &stop) == 0;

	trial.code = parser_create(PARSER_EXEC, &options.parser, &err);
	if (!trial.code)
		trial.code = engine_run(&options, &profile, &err);
	atomic_store(&stop, true);
	if (has_thread)
		pthread_join(thread, NULL);
	parser_destroy(options.parser);
	if (trial.code) {
		snprintf(trial.said, sizeof(trial.said), "%s",
			 err.msg[0] ? err.msg : strerror(-trial.code));
	} else {
		memcpy(trial.event, profile.source.name, sizeof(trial.event));
		trial.startup_ms = profile.startup_ms;
		count_samples(&profile, &trial);
		profile_fini(&profile);
	}
	*ret = trial;
}
