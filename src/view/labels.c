/* SPDX-License-Identifier: Apache-2.0 */
#include "view/labels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "recording/keys.h"
#include "recording/sources.h"

#define BY_TASK (RECORDING_HAS_PID | RECORDING_HAS_TID | RECORDING_HAS_COMM)

/* The labels that were asked for and are known; by default the name of the task. */
static unsigned labels_of(const struct recording *recording, const struct recording_stack *stack)
{
	return (stack->has | RECORDING_HAS_EVENT | (stack->state ? RECORDING_HAS_STATE : 0u)) &
	       (recording->by ? recording->by |
					(recording->by & RECORDING_HAS_TID ? RECORDING_HAS_PID : 0u)
			      : RECORDING_HAS_COMM);
}

static uint32_t intern(struct frame_texts *texts, const char *text)
{
	return must_frame_texts_intern(&texts->strings, text, "", texts->options.verbatim);
}

static uint32_t show(struct frame_texts *texts, uint32_t text)
{
	uint32_t id;

	alloc_check(frame_texts_show(texts, text, &id));
	return id;
}

static uint32_t intern_task(struct frame_texts *texts, unsigned labels,
			    const struct recording_stack *stack)
{
	const char *comm = recording_string(texts->recording, stack->comm);
	AUTO_FREE char *text = NULL;
	char pid[16] = "", tid[16] = "";

	if ((labels & BY_TASK) == RECORDING_HAS_COMM)
		return show(texts, stack->comm);

	if (labels & RECORDING_HAS_PID)
		snprintf(pid, sizeof(pid), labels & RECORDING_HAS_COMM ? "-%u" : "%u", stack->pid);
	if (labels & RECORDING_HAS_TID)
		snprintf(tid, sizeof(tid), "/%u", stack->tid);
	text = must_asprintf("%s%s%s", labels & RECORDING_HAS_COMM ? comm : "", pid, tid);
	return intern(texts, text);
}

/* A number alone would say nothing. */
static uint32_t intern_key(struct frame_texts *texts, const struct recording_stack *stack)
{
	const char *value = recording_string(texts->recording, stack->key);
	AUTO_FREE char *text = NULL;

	if (value[strspn(value, "-0123456789")] || !texts->recording->key)
		return show(texts, stack->key);
	text = must_asprintf("%s %s", recording_string(texts->recording, texts->recording->key),
			     value);
	return intern(texts, text);
}

uint32_t labels_intern(struct frame_texts *texts, const struct recording_stack *stack,
		       uint32_t ret[static LABELS_MAX])
{
	unsigned labels = labels_of(texts->recording, stack);
	uint32_t nr = 0;

	if (labels & RECORDING_HAS_EVENT && sources_event(texts->recording, stack))
		ret[nr++] = show(texts, sources_event(texts->recording, stack));
	if (labels & RECORDING_HAS_STATE)
		ret[nr++] = intern(texts, state_key(stack->state));
	if (labels & RECORDING_HAS_KEY)
		ret[nr++] = intern_key(texts, stack);
	if (labels & RECORDING_HAS_CGROUP)
		ret[nr++] = show(texts, stack->cgroup);
	if (labels & RECORDING_HAS_CPU) {
		char text[16];

		snprintf(text, sizeof(text), "cpu %u", stack->cpu);
		ret[nr++] = intern(texts, text);
	}
	if (labels & BY_TASK)
		ret[nr++] = intern_task(texts, labels, stack);
	if (!nr && !stack->nr_user && !stack->nr_kernel)
		ret[nr++] = intern(texts, "[unknown]");
	return nr;
}
