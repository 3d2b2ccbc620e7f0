/* SPDX-License-Identifier: Apache-2.0 */
#include "picture/walk_pair.h"

#include <string.h>

#include "recording/verdict_class.h"

/* As many frames as the kernel's walk gives where nothing else is configured: what is behind is out
 * of its reach and not its fault. */
enum { FP_MAX = 127 };

static bool is_same_code(const struct recording_frame *a, const struct recording_frame *b)
{
	return a->object == b->object && a->address == b->address;
}

static const struct recording_frame *frame_at(const struct recording *recording,
					      const uint32_t *ids, size_t i)
{
	return &recording->frames[ids[i]];
}

void walk_pair_mark(const struct recording *recording, const struct recording_stack *stack,
		    uint8_t *ret_cfi, uint8_t *ret_fp)
{
	const uint32_t *c = &recording->frame_ids[stack->first_frame];
	const uint32_t *f = c + stack->nr_user + stack->nr_kernel;
	size_t nr_c = stack->nr_user, nr_f = stack->nr_fp, at = 0;

	memset(ret_cfi, WALK_MARK_NONE, nr_c);
	memset(ret_fp, WALK_MARK_NONE, nr_f);
	if (!(stack->has & RECORDING_HAS_FP) || stack->class == VERDICT_AGREE ||
	    stack->class >= VERDICT_UNJUDGED)
		return;
	for (size_t i = 0; i < nr_f; i++) {
		size_t found = at;

		while (found < nr_c &&
		       !is_same_code(frame_at(recording, c, found), frame_at(recording, f, i)))
			found++;
		if (found == nr_c) {
			ret_fp[i] = WALK_MARK_WRONG;
			continue;
		}
		if (found > at) {
			memset(&ret_cfi[at], WALK_MARK_LOST, found - at);
			if (i && ret_fp[i - 1] == WALK_MARK_NONE)
				ret_fp[i - 1] = WALK_MARK_GAP;
		}
		at = found + 1;
	}
	if (at == nr_c || nr_f >= FP_MAX)
		return;
	memset(&ret_cfi[at], WALK_MARK_LOST, nr_c - at);
	if (nr_f && ret_fp[nr_f - 1] == WALK_MARK_NONE)
		ret_fp[nr_f - 1] = WALK_MARK_CUT;
}
