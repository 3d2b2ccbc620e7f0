/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that $PATH leads to. */
#pragma once

#include <stdbool.h>

/* Is there a program called @name, as execlp(3) looks for it? */
bool program_is_found(const char *name);
