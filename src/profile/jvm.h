/* SPDX-License-Identifier: Apache-2.0 */
/* The JVM in a process, or another maker of code: workers read the memory, through its file in
 * /proc. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "jit/hotspot.h"
#include "jit/made_code.h"
#include "symbolize/code_table.h"

struct parse_client;

/*
 * client_jvm() of process @pid. Errors: as there, but for -EOWNERDEAD, which is said as -EFAULT,
 * and what opening the memory returned.
 */
FPL_MUST_CHECK int jvm_describe(struct parse_client *client, uint32_t pid, uint64_t base,
				struct hotspot *ret, struct fpl_err *err);

/* client_made() of process @pid. Errors: as for jvm_describe(). */
FPL_MUST_CHECK int jvm_made(struct parse_client *client, uint32_t pid,
			    const struct made_question *asked, struct made_code *ret,
			    struct fpl_err *err);

/* The memory of process @pid, to be read later: the caller closes it. Returns -errno: not there. */
int jvm_open_memory(uint32_t pid);

/* client_jvm_code() of the memory open at @fd. @asked [@nr_asked], @ret: as there. */
FPL_MUST_CHECK int jvm_code(struct parse_client *client, uint32_t pid, int fd, uint64_t base,
			    const uint64_t *asked, size_t nr_asked, struct code_table *ret,
			    struct fpl_err *err);
