/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few of the kernel's types that a BPF object asks about, cut out of the 100,000 the kernel
 * has: libbpf would read and index all of them to find the offsets of a dozen members.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct btf;

/*
 * Cut from @all, the raw BTF of a kernel, the structs and unions named in @asking, each with the
 * members named there and their types; pointers lead nowhere. Offsets and sizes are those of the
 * kernel. Types that the kernel lacks are missing from the result, too. So a relocation that asks
 * whether a member of these exists is answered as by the kernel's own; one that asks about another
 * type, or a value of an enum, is not.
 *
 * @ret is to be freed by btf__free. Errors: -EINVAL malformed, or of a kind not known here; -E2BIG
 * more than anybody asks for; -ENOMEM. Cost: one pass over all types, 1 ms.
 */
FPL_MUST_CHECK int kernel_types_cut(const uint8_t *all, size_t size, const struct btf *asking,
				    struct btf **ret);

/* A file in memory that takes the place of the kernel's for libbpf's btf_custom_path. */
struct kernel_types {
	int fd;
	char path[32];
};

/* Make the file, empty. Errors: as memfd_create(2). */
FPL_MUST_CHECK int kernel_types_init(struct kernel_types *types, struct fpl_err *err);
/* Write into it what @asking needs of the running kernel. Errors: as kernel_types_cut, open(2). */
FPL_MUST_CHECK int kernel_types_fill(struct kernel_types *types, const struct btf *asking,
				     struct fpl_err *err);
void kernel_types_fini(struct kernel_types *types);
