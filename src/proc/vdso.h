/* SPDX-License-Identifier: Apache-2.0 */
/* The image that the kernel maps into every process, as an ordinary file. */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* Open a copy of this process's vDSO; *ret is the caller's. Errors: -ENOENT no vDSO; those of
 * memfd_create(2) and write(2). */
FPL_MUST_CHECK int vdso_open(int *ret, struct fpl_err *err);

/* Make a file of the vDSO at @image, @size bytes, of another process. Errors: those of the same
 * calls. */
FPL_MUST_CHECK int vdso_copy(const void *image, size_t size, int *ret, struct fpl_err *err);
