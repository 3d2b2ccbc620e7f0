/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/source.h"

#include <errno.h>
#include <string.h>

#include "profile/source_kinds.h"

/* By enum source_class. */
static const struct source_ops *const kinds[] = {
	[SOURCE_CLOCK] = &source_perf_ops,    [SOURCE_SOFTWARE] = &source_perf_ops,
	[SOURCE_HARDWARE] = &source_perf_ops, [SOURCE_TRACEPOINT] = &source_tracepoint_ops,
	[SOURCE_PROBE] = &source_probe_ops,   [SOURCE_BLOCKED] = &source_blocked_ops,
	[SOURCE_HEAP] = &source_heap_ops,     [SOURCE_WAKER] = &source_waker_ops,
	[SOURCE_RSS] = &source_rss_ops,
};

/* Are the CPUs that are to be sampled online? */
static int check_cpus(const struct source *source, const struct cpu_list *wanted,
		      struct fpl_err *err)
{
	for (size_t i = 0; i < wanted->nr; i++)
		if (!cpu_list_has(&source->cpus, wanted->cpus[i]))
			return fpl_fail(err, -ESRCH, "-C: CPU %d is not online", wanted->cpus[i]);
	return 0;
}

int source_open(const struct engine_options *options, uint32_t number, struct source *ret,
		struct fpl_err *err)
{
	struct source source = { .ops = kinds[options->sources[number].class], .number = number };
	int code = cpu_list_online(&source.cpus);

	if (code)
		return fpl_fail(err, code == -ENOMEM ? code : -EOPNOTSUPP,
				"/sys/devices/system/cpu/online: %s", strerror(-code));
	code = check_cpus(&source, &options->cpus, err);
	if (!code)
		code = source.ops->open(&source, options, err);
	if (code) {
		source_close(&source);
		return code;
	}
	*ret = source;
	return 0;
}

void source_close(struct source *source)
{
	if (source->ops)
		source->ops->close(source);
	cpu_list_fini(&source->cpus);
	*source = (struct source){ 0 };
}

int source_attach(struct source *source, int prog_fd, struct fpl_err *err)
{
	return source->ops->attach(source, prog_fd, err);
}

int source_enable(struct source *source, struct fpl_err *err)
{
	return source->ops->enable ? source->ops->enable(source, err) : 0;
}

void source_disable(struct source *source)
{
	if (source->ops && source->ops->disable)
		source->ops->disable(source);
}

void source_set_period(struct source *source, uint64_t period_ns)
{
	source->ops->set_period(source, period_ns);
}

uint64_t source_expected(const struct source *source)
{
	return profile_source_is_clock(&source->what) ? source->ops->expected(source) : 0;
}

uint64_t source_counted(const struct source *source, uint64_t fired)
{
	bool is_counted = source->ops->counted && !profile_source_is_clock(&source->what);

	return is_counted ? source->ops->counted(source, fired) : 0;
}

/* Runs that the kernel left out of the program @sampler, where @nr sources share it: in samples of
 * the source that takes the most of its events. */
static uint64_t runs_left_out(const struct source *sources, size_t nr, enum sampler sampler)
{
	uint64_t most = 0;

	for (size_t i = 0; i < nr; i++) {
		uint64_t left_out = sources[i].event && sources[i].sampler == sampler
					    ? source_counted(&sources[i], 0)
					    : 0;

		most = left_out > most ? left_out : most;
	}
	return most;
}

struct source_due sources_due(const struct source *sources, size_t nr)
{
	struct source_due due = { 0 };

	for (size_t i = 0; i < nr; i++) {
		due.expected += source_expected(&sources[i]);
		if (!sources[i].event)
			due.counted += source_counted(&sources[i], 0);
	}
	for (unsigned int i = 0; i < SAMPLER_COUNT; i++)
		due.left_out += runs_left_out(sources, nr, (enum sampler)i);
	return due;
}

struct source_sums sources_sum(const struct source_due *due, uint64_t fired, uint64_t entered)
{
	uint64_t others = due->expected + due->counted;
	struct source_sums sums = {
		.expected = due->expected,
		.counted = due->counted + entered + due->left_out,
		.missed = due->left_out,
	};

	if (others > fired - entered)
		sums.missed += others - (fired - entered);
	return sums;
}
