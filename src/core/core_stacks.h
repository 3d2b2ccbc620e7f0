/* SPDX-License-Identifier: Apache-2.0 */
/* The stacks of all threads of a core file, as a profile: so they are named and written as those of
 * a run are. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "core/core_code.h"
#include "core/core_file.h"
#include "profile/profile.h"

/*
 * Walk the threads of @core whose tid is among @tids [@nr_tids], all where @nr_tids is 0, and fill
 * @ret, which is zeroed: its objects and its stacks. Equal stacks are one, with their number; that
 * of the thread which got the signal comes first, alone, with its tid. Cost: a walk a thread, and a
 * table for each file with code on a stack.
 */
void core_stacks_make(const struct core_file *core, struct core_code *code, const pid_t *tids,
		      size_t nr_tids, struct profile *ret);
