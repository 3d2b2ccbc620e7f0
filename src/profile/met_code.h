/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses in code made at run time that samples met, so that its run time is asked what is
 * inlined there. One thread adds, another one takes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Addresses of all images; beyond that none is asked about. */
#define MET_CODE_MAX (1u << 18)
/* Leaves among them: they have many addresses, and most JVMs know nothing of them. */
#define MET_CODE_LEAVES_MAX (MET_CODE_MAX / 2)

struct met_code;

/* Errors: -ENOMEM. */
FPL_MUST_CHECK int met_code_create(struct met_code **ret);
/* NULL is allowed. */
void met_code_destroy(struct met_code *met);

/*
 * Image @gen has the user frames @frames [@nr] in a stack (bits of bpf/shared.h): add those in
 * regions that were not met before. Without memory they are left out. Cost: O(nr).
 */
void met_code_add(struct met_code *met, uint64_t gen, const uint64_t *frames, size_t nr);

/*
 * Take addresses of image @gen as hotspot_asked() has them, up to @max: how many of @ret are
 * filled. *from: 0 at first, where to go on the next time. Cost: O(addresses since *from).
 */
size_t met_code_take(struct met_code *met, uint64_t gen, size_t *from, uint64_t *ret, size_t max);
