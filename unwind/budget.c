/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/budget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

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

int budget_reserve(struct budget *budget, void *list, size_t *room, size_t wanted, size_t size,
		   struct fpl_err *err)
{
	void **array = list, *grown;
	int code;

	if (wanted <= *room)
		return 0;
	code = budget_memory(budget, (wanted - *room) * size, err);
	if (code)
		return code;
	grown = reallocarray(*array, wanted, size);
	if (!grown)
		return fpl_fail(err, -ENOMEM, "%s: out of memory", budget->name);
	*array = grown;
	*room = wanted;
	return 0;
}

int budget_grow(struct budget *budget, void *list, size_t *room, size_t nr, size_t size,
		struct fpl_err *err)
{
	return nr < *room ? 0
			  : budget_reserve(budget, list, room, *room ? 2 * *room : 256, size, err);
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
