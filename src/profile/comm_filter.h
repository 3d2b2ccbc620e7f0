/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Only tasks whose name matches a regular expression. A name is a part of what a stack is, as it
 * was when the sample was taken, so each stack is judged for certain here. The kernel side is told
 * of each name that was met, and saves itself the samples of those that do not match.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"
#include "profile/profile.h"

struct comm_filter;

/* @regex: POSIX extended, found anywhere in the name. @by_key: the name is that in the key of a
 * stack; else that of its task. Stacks of wakers, which others lead to, are not judged. Errors:
 * -EINVAL, with what is wrong in it; -ENOMEM. */
FPL_MUST_CHECK int comm_filter_create(const char *regex, bool by_key, struct comm_filter **ret,
				      struct fpl_err *err);
void comm_filter_destroy(struct comm_filter *filter);

/* @tell is called with the verdict on each name that is met from now on, maybe more than once. */
void comm_filter_tell(struct comm_filter *filter,
		      void (*tell)(void *ctx, const struct fpl_comm *comm, uint32_t verdict),
		      void *ctx);

/* Does the name match? @comm: of the task, [FPL_COMM_SIZE], ends with its first NUL. @flags:
 * FPL_SAMPLE_* of the stack. @key: [nr_key]. */
bool comm_filter_wants(struct comm_filter *filter, const char *comm, uint8_t flags,
		       const uint64_t *key, uint16_t nr_key);

/* The same of a stack of a profile. */
bool comm_filter_wants_stack(struct comm_filter *filter, const struct profile_stack *stack);

/* Take the stacks whose name does not match out of @profile. Returns how many samples they had. */
uint64_t comm_filter_apply(struct comm_filter *filter, struct profile *profile);
