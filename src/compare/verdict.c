/* SPDX-License-Identifier: Apache-2.0 */
#include "compare/verdict.h"

#include "base/alloc.h"
#include "naming/names.h"
#include "recording/keys.h"

/* The bits of a frame that say which code it is. */
#define PC_MASK (FPL_FRAME_RAW | FPL_FRAME_ADDR_MASK)

static bool same_pc(uint64_t left, uint64_t right)
{
	return ((left ^ right) & PC_MASK) == 0;
}

/* True where F can be made from C by leaving frames out. */
static bool is_in_order_part(const uint64_t *c, size_t nr_c, const uint64_t *f, size_t nr_f)
{
	size_t found = 0;

	/* Taking the first place that fits leaves the most of C for the rest of F. */
	for (size_t i = 0; i < nr_c && found < nr_f; i++)
		found += same_pc(c[i], f[found]);
	return found == nr_f;
}

/* The reason not to judge @stack, or VERDICT_REASON_COUNT. */
static unsigned reason_of(const struct profile_stack *stack)
{
	if (stack->flags & FPL_SAMPLE_KTHREAD)
		return VERDICT_REASON_NO_USER_PART;
	if (stack->stop != FPL_STOP_OUTERMOST)
		return stack->stop < FPL_STOP_COUNT ? stack->stop : VERDICT_REASON_NO_USER_PART;
	if (!stack->nr_user)
		return VERDICT_REASON_NO_USER_PART;
	for (size_t i = 0; i < stack->nr_user; i++) {
		if (frame_is_gap(stack->frames[i]))
			continue;
		if (frame_origin(stack->frames[i]) == FPL_ORIGIN_FP)
			return VERDICT_REASON_FP_FRAME;
	}
	return VERDICT_REASON_COUNT;
}

/*
 * How many frames of C lead to the one that led F astray, which has @nr_common frames right.
 * "arrrm" with one r left out is "arrm" whichever r it was: frames left out can be earlier ones as
 * long as those look like them.
 */
static size_t nr_followed(const uint64_t *c, size_t nr_c, const uint64_t *f, size_t nr_f,
			  size_t nr_common)
{
	size_t at = nr_common, end = nr_common;

	if (nr_common == nr_f)
		return at;
	while (end < nr_c && !same_pc(c[end], f[nr_common]))
		end++;
	if (end == nr_c)
		return at;
	/* The leaf is the pc itself: no walk leaves it out. */
	while (at > 1 && same_pc(c[at - 1], c[end - 1])) {
		at--;
		end--;
	}
	return at;
}

/* How many frames of C are known in one piece: up to those that were left out. */
static size_t nr_before_gap(const struct profile_stack *stack)
{
	size_t nr = 0;

	if (!stack->elided)
		return stack->nr_user;
	while (nr < stack->nr_user && !frame_is_gap(stack->frames[nr]))
		nr++;
	return nr;
}

struct verdict verdict_of(const struct profile_stack *stack, uint32_t fp_max)
{
	const uint64_t *c = stack->frames, *f = c + stack->nr_user + stack->nr_kernel;
	size_t nr_c = nr_before_gap(stack), nr_f = stack->nr_fp;
	size_t reachable = nr_c < fp_max ? nr_c : fp_max;
	unsigned reason = reason_of(stack);
	struct verdict verdict = { 0 };

	/* what F has beyond may be among the frames left out */
	if (reason == VERDICT_REASON_COUNT && nr_c < stack->nr_user &&
	    (nr_c < fp_max || !is_in_order_part(c, stack->nr_user, f, nr_f)))
		reason = VERDICT_REASON_LEFT_OUT;
	if (reason != VERDICT_REASON_COUNT)
		return (struct verdict){ .class = VERDICT_UNJUDGED, .reason = reason };
	while (verdict.nr_common < nr_c && verdict.nr_common < nr_f &&
	       same_pc(c[verdict.nr_common], f[verdict.nr_common]))
		verdict.nr_common++;
	if (!is_in_order_part(c, stack->nr_user, f, nr_f))
		verdict.class = VERDICT_WRONG;
	else if (verdict.nr_common < nr_f)
		verdict.class = VERDICT_SKIP;
	else if (nr_f < reachable)
		verdict.class = VERDICT_CUT;
	else
		verdict.class = VERDICT_AGREE;
	verdict.nr_followed = nr_followed(c, nr_c, f, nr_f, verdict.nr_common);
	return verdict;
}

uint8_t *verdict_classes(const struct profile *profile)
{
	uint8_t *classes = must_malloc(profile->nr_stacks);

	for (size_t i = 0; i < profile->nr_stacks; i++)
		classes[i] = (uint8_t)verdict_of(&profile->stacks[i], profile->fp_max).class;
	return classes;
}

size_t verdict_parting(const struct profile_stack *stack, const struct verdict *verdict)
{
	return verdict->nr_common < stack->nr_user ? verdict->nr_common : stack->nr_user - 1u;
}

static const struct {
	const char *key, *text;
} reasons[] = {
#define X(name, key, text) [VERDICT_REASON_##name - FPL_STOP_COUNT] = { #key, text },
	VERDICT_REASON_LIST(X)
#undef X
};

const char *verdict_reason_key(unsigned reason)
{
	return reason < FPL_STOP_COUNT ? stop_key((enum fpl_stop)reason)
				       : reasons[reason - FPL_STOP_COUNT].key;
}

const char *verdict_reason_text(unsigned reason)
{
	return reason < FPL_STOP_COUNT ? stop_text((enum fpl_stop)reason)
				       : reasons[reason - FPL_STOP_COUNT].text;
}
