/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels tell stacks apart beside their frames. They stand before the frames in a folded line:
 * event, state, key, cgroup, CPU, task, each where it was asked for; by default the task alone.
 *
 *   event    its name: "page-faults"
 *   state    "on-cpu", "runnable" or "blocked"
 *   key      the value of a field of the event: a text, or "fd 3"
 *   cgroup   its path, or "[cgroup ID]" where it was gone before it could be asked for
 *   CPU      "cpu N"
 *   task     "comm", "comm-pid", "comm-pid/tid", "pid" or "pid/tid": as those of perf's and
 *            inferno's folded lines
 *
 * What is not known of a stack that was read from a file is left out. One of which nothing is known
 * and that has no frame has the label "[unknown]".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "view/frame_texts.h"

#define LABELS_MAX 6u

/* The labels of @stack, escaped unless the texts are verbatim, in their strings. Returns how
 * many there are. */
uint32_t labels_intern(struct frame_texts *texts, const struct recording_stack *stack,
		       uint32_t ret[static LABELS_MAX]);
