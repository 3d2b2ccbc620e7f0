/* SPDX-License-Identifier: Apache-2.0 */
/* The code that Erlang's JIT makes: how its frames are found (decision 0049), and what it is
 * called. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "jit/made_code.h"
#include "jit/memory.h"
#include "symbolize/code_table.h"

/* Is the object that is loaded at @base Erlang's run time with its JIT? */
bool beam_is(struct jit_memory *memory, uint64_t base);

/*
 * Say how code of the run time that is loaded at @base is walked. *ret: checked. Errors: -EAGAIN it
 * has not begun yet; -EFAULT its memory cannot be read; -ENOTSUP its code or its stacks are not as
 * they are known, or what it exports: @err names it. Cost: a read of each module's record.
 */
FPL_MUST_CHECK int beam_find(struct jit_memory *memory, uint64_t base, struct made_code *ret,
			     struct fpl_err *err);

/*
 * Add the code that is now at @asked [@nr_asked] (hotspot_asked()), ascending, to @ret, as
 * "module:function/arity", and the line of each address of which that is asked. What makes no
 * sense is left out. Errors: those of code_table_add(). Cost: a read of each module's record, and
 * all of those with such code.
 */
FPL_MUST_CHECK int beam_names(struct jit_memory *memory, uint64_t base, const uint64_t *asked,
			      size_t nr_asked, struct code_table *ret);
