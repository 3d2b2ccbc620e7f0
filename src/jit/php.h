/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code that PHP's JIT makes: it runs in the frame of execute_ex(), the loop of the interpreter,
 * which jumps into it (decision 0048).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "jit/made_code.h"
#include "jit/memory.h"

/*
 * Find that code in the executable memory that is shared, @bounds [2 * @nr], the start and the end
 * of each mapping. @base: of the object with PHP's interpreter. *ret: checked. Errors: -ENOENT no
 * memory is that of the JIT, yet; -EFAULT what the object exports cannot be read; -ENOTSUP its
 * interpreter is another one. Cost: some 10 pages are read.
 */
FPL_MUST_CHECK int php_find(struct jit_memory *memory, uint64_t base, const uint64_t *bounds,
			    size_t nr, struct made_code *ret, struct fpl_err *err);
