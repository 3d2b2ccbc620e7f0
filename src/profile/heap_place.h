/* SPDX-License-Identifier: Apache-2.0 */
/* Places at which allocations and frees are seen. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vector.h"
#include "bpf/shared.h"
#include "profile/probe_file.h"

struct heap_place {
	size_t file;	     /* index in heap_places.files */
	uint64_t off;	     /* in the file */
	enum fpl_alloc kind; /* unless it frees */
	bool frees;
	/* It is no function, but a probe that tells of allocations, or of frees. Then: */
	bool tells;
	struct fpl_told told;
	uint64_t ref_ctr_off; /* as in struct probe_site */
};

/* All 0: empty. */
struct heap_places {
	VECTOR(struct probe_file) files; /* owned: each once */
	VECTOR(struct heap_place) list;	 /* each place once */
	size_t nr_tellers;		 /* files that tell of allocations */
};
