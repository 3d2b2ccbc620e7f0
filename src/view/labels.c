/* SPDX-License-Identifier: Apache-2.0 */
#include "view/labels.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define BY_TASK (RECORDING_HAS_PID | RECORDING_HAS_TID | RECORDING_HAS_COMM)

/* What was asked for and is known; nothing asked is the name of the task. */
static unsigned labels_of(const struct recording *recording, const struct recording_stack *stack)
{
	return stack->has &
	       (recording->by ? recording->by |
					(recording->by & RECORDING_HAS_TID ? RECORDING_HAS_PID : 0u)
			      : RECORDING_HAS_COMM);
}

static int intern(struct frame_texts *texts, const char *text, uint32_t *ret)
{
	return frame_texts_intern(&texts->strings, text, "", texts->options.verbatim, ret);
}

static int intern_task(struct frame_texts *texts, unsigned labels,
		       const struct recording_stack *stack, uint32_t *ret)
{
	const char *comm = recording_string(texts->recording, stack->comm);
	AUTO_FREE char *text = NULL;
	char pid[16] = "", tid[16] = "";

	if ((labels & BY_TASK) == RECORDING_HAS_COMM)
		return frame_texts_show(texts, stack->comm, ret);

	if (labels & RECORDING_HAS_PID)
		snprintf(pid, sizeof(pid), labels & RECORDING_HAS_COMM ? "-%u" : "%u", stack->pid);
	if (labels & RECORDING_HAS_TID)
		snprintf(tid, sizeof(tid), "/%u", stack->tid);
	if (asprintf(&text, "%s%s%s", labels & RECORDING_HAS_COMM ? comm : "", pid, tid) < 0) {
		text = NULL; /* asprintf leaves it undefined */
		return -ENOMEM;
	}
	return intern(texts, text, ret);
}

int labels_intern(struct frame_texts *texts, const struct recording_stack *stack,
		  uint32_t ret[static LABELS_MAX], uint32_t *ret_nr)
{
	const struct recording *recording = texts->recording;
	unsigned labels = labels_of(recording, stack);
	uint32_t nr = 0;
	int err = 0;

	if (labels & RECORDING_HAS_CGROUP)
		err = frame_texts_show(texts, stack->cgroup, &ret[nr++]);
	if (!err && (labels & RECORDING_HAS_CPU)) {
		char text[16];

		snprintf(text, sizeof(text), "cpu %u", stack->cpu);
		err = intern(texts, text, &ret[nr++]);
	}
	if (!err && (labels & BY_TASK))
		err = intern_task(texts, labels, stack, &ret[nr++]);
	if (!err && !nr && !stack->nr_user && !stack->nr_kernel)
		err = intern(texts, "[unknown]", &ret[nr++]);
	*ret_nr = nr;
	return err;
}
