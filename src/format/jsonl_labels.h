/* SPDX-License-Identifier: Apache-2.0 */
/* The labels that stacks are shown by, in .jsonl: keys of a stack, and words of "by". */
#pragma once

#include <stddef.h>

#include "recording/recording.h"

#define JSONL_LABELS 8u

static const struct {
	const char *key;
	unsigned has; /* RECORDING_HAS_* */
} jsonl_labels[JSONL_LABELS] = {
	{ "comm", RECORDING_HAS_COMM },	    { "pid", RECORDING_HAS_PID },
	{ "tid", RECORDING_HAS_TID },	    { "cpu", RECORDING_HAS_CPU },
	{ "cgroup", RECORDING_HAS_CGROUP }, { "event", RECORDING_HAS_EVENT },
	{ "key", RECORDING_HAS_KEY },	    { "state", RECORDING_HAS_STATE },
};
