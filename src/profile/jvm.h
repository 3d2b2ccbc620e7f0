/* SPDX-License-Identifier: Apache-2.0 */
/* The JVM in a process: workers read the memory, through its file in /proc. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "jit/hotspot.h"
#include "proc/mapset.h"
#include "symbolize/code_table.h"

struct catalog;
struct parse_client;

/* Is the file at @path libjvm, by its name? */
static inline bool jvm_is_library(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && !strcmp(slash, "/libjvm.so");
}

/* The address that libjvm is loaded at; 0: it is not. Cost: O(mappings). */
uint64_t jvm_base(const struct catalog *catalog, const struct mapset *set);

/*
 * client_jvm() of process @pid. Errors: as there, but for -EOWNERDEAD, which is said as -EFAULT,
 * and what opening the memory returned.
 */
FPL_MUST_CHECK int jvm_describe(struct parse_client *client, uint32_t pid, uint64_t base,
				struct hotspot *ret, struct fpl_err *err);

/* The memory of process @pid, to be read later: the caller closes it. Returns -errno: not there. */
int jvm_open_memory(uint32_t pid);

/* client_jvm_code() of the memory open at @fd. @asked [@nr_asked], @ret: as there. */
FPL_MUST_CHECK int jvm_code(struct parse_client *client, uint32_t pid, int fd, uint64_t base,
			    const uint64_t *asked, size_t nr_asked, struct code_table *ret,
			    struct fpl_err *err);
