/* SPDX-License-Identifier: Apache-2.0 */
/* Names of system calls, as the headers of the build machine's kernel number them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Write the name of the call @call, as arch_call() of bpf/arch_x86_64.h has it, to @ret [@size]:
 * "read", "read (32-bit)", "call 999" where it has no name there, "[no call]". */
void call_names_find(uint64_t call, char *ret, size_t size);
