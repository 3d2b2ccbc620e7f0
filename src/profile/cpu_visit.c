/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/cpu_visit.h"

#include <sched.h>

#include "base/cleanup.h"
#include "proc/cpu_list.h"

/* As large as that of any kernel. */
struct cpu_mask {
	cpu_set_t sets[CPU_LIST_MAX / CPU_SETSIZE];
};

static bool visit(const struct cpu_list *online)
{
	for (size_t i = 0; i < online->nr; i++) {
		struct cpu_mask one = { 0 };

		CPU_SET_S((size_t)online->cpus[i], sizeof(one), one.sets);
		if (sched_setaffinity(0, sizeof(one), one.sets))
			return false;
	}
	return true;
}

bool cpu_visit_all(void)
{
	CLEANUP(cpu_list_fini) struct cpu_list online = { 0 };
	struct cpu_mask before = { 0 };
	bool done;

	if (cpu_list_online(&online) || sched_getaffinity(0, sizeof(before), before.sets))
		return false;
	done = visit(&online);
	(void)!sched_setaffinity(0, sizeof(before), before.sets);
	return done;
}
