/* SPDX-License-Identifier: Apache-2.0 */
#include "output/labels.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BY_TASK (PROFILE_BY_PID | PROFILE_BY_TID | PROFILE_BY_COMM)

/* What was asked for; nothing is the name of the task. */
static unsigned by(const struct profile *profile)
{
	return profile->by ? profile->by : PROFILE_BY_COMM;
}

size_t labels_nr(const struct profile *profile)
{
	unsigned labels = by(profile);

	return (labels & PROFILE_BY_CGROUP ? 1u : 0u) + (labels & PROFILE_BY_CPU ? 1u : 0u) +
	       (labels & BY_TASK ? 1u : 0u);
}

const char *labels_cgroup(const struct profile *profile, const struct profile_stack *stack,
			  char *buf, size_t size)
{
	const char *path = profile_cgroup(profile, stack->cgroup);

	if (path)
		return path;
	snprintf(buf, size, "[cgroup %" PRIu64 "]", stack->cgroup);
	return buf;
}

static int intern_task(struct names *names, const struct profile_stack *stack, uint32_t *ret)
{
	unsigned labels = by(names->profile);
	char text[FPL_COMM_SIZE + 32] = "";
	size_t len = 0;

	if (labels & PROFILE_BY_COMM) {
		memcpy(text, stack->comm, FPL_COMM_SIZE);
		len = strlen(text);
	}
	if (labels & (PROFILE_BY_PID | PROFILE_BY_TID))
		len += (size_t)snprintf(text + len, sizeof(text) - len,
					labels & PROFILE_BY_COMM ? "-%u" : "%u", stack->pid);
	if (labels & PROFILE_BY_TID)
		snprintf(text + len, sizeof(text) - len, "/%u", stack->tid);
	return names_text(names, text, ret);
}

int labels_intern(struct names *names, const struct profile_stack *stack,
		  uint32_t ret[static LABELS_MAX])
{
	unsigned labels = by(names->profile);
	char text[64];
	size_t nr = 0;
	int err = 0;

	if (labels & PROFILE_BY_CGROUP)
		err = names_text(names, labels_cgroup(names->profile, stack, text, sizeof(text)),
				 &ret[nr++]);
	if (!err && (labels & PROFILE_BY_CPU)) {
		snprintf(text, sizeof(text), "cpu %u", stack->cpu);
		err = names_text(names, text, &ret[nr++]);
	}
	if (!err && (labels & BY_TASK))
		err = intern_task(names, stack, &ret[nr++]);
	return err;
}
