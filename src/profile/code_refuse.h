/* SPDX-License-Identifier: Apache-2.0 */
/* Names of code made at run time that are not read: each reason is said, until there are many. */
#pragma once

#include <stdint.h>

/* Count a file or a process that was not read, or not to its end, in *@nr, and say why; too many of
 * such lines are said at debug level. */
void code_refuse(uint64_t *nr, const char *why);
