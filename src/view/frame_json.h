/* SPDX-License-Identifier: Apache-2.0 */
/* Frames and tasks as .jsonl has them: fpless-formats(5). */
#pragma once

#include "view/json.h"
#include "recording/recording.h"

/* Write the frame as an element of the array that is open. */
void frame_json_write(struct json *json, const struct recording *recording,
		      const struct recording_frame *frame);

/* Write what tells of the task of @stack into the object that is open: comm and pid; tid, cpu and
 * cgroup where it has them. */
void frame_json_write_task(struct json *json, const struct recording *recording,
			   const struct recording_stack *stack);
