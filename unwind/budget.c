/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/budget.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"

const struct table_limits table_limits_default = {
	.cpu_ns = 2000000000,
	.memory_bytes = 256u << 20,
	.rows = 4u << 20,
	.synth = true,
};

void budget_init(struct budget *budget, const char *name, const struct table_limits *limits)
{
	*budget = (struct budget){
		.name = name,
		.limits = limits,
		.start_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID),
	};
}

uint64_t budget_spent_ns(const struct budget *budget)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID) - budget->start_ns;
}

int budget_memory(struct budget *budget, uint64_t bytes, struct fpl_err *err)
{
	if (bytes > budget_memory_left(budget))
		return fpl_fail(err, -EFBIG,
				"%s: its CFI needs more than the %" PRIu64
				" MiB of memory a file may take",
				budget->name, budget->limits->memory_bytes >> 20);
	budget->memory_bytes += bytes;
	return 0;
}

uint64_t budget_memory_left(const struct budget *budget)
{
	return budget->limits->memory_bytes - budget->memory_bytes;
}

int budget_check(const struct budget *budget, struct fpl_err *err)
{
	const struct table_limits *limits = budget->limits;

	if (budget->rows > limits->rows)
		return fpl_fail(err, -EFBIG,
				"%s: its CFI has more than the %" PRIu64 " rows a file may have",
				budget->name, limits->rows);
	if (budget_spent_ns(budget) > limits->cpu_ns)
		return fpl_fail(err, -EFBIG,
				"%s: its CFI takes more than the %" PRIu64
				" ms of CPU time a file may take",
				budget->name, limits->cpu_ns / 1000000);
	return 0;
}
