/* SPDX-License-Identifier: Apache-2.0 */
/* The run as a whole, as a pprof describes it: the kind of its samples, their time, the books. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/pprof_fields.h"
#include "format/pprof_input.h"
#include "format/pprof_tables.h"

/* @weighed: samples have weights beside their counts. @plain: without comments. */
void pprof_meta_write(struct pprof_fields *fields, bool weighed, bool plain);

/* The same as it is read. */
struct pprof_meta {
	VECTOR(int64_t) comments; /* texts */
	uint64_t start_unix_ns, duration_ns;
};

void pprof_meta_fini(struct pprof_meta *meta);

/* Add what a field PPROF_FIELD_COMMENT has, one comment or several. */
void pprof_meta_add_comment(struct pprof_meta *meta, const struct pprof_field *field);

/* Did fpless write the file, as far as its comments are there? */
bool pprof_meta_is_own(const struct pprof_meta *meta, const struct pprof_tables *tables);

/* Tell the recording of @tables. */
void pprof_meta_apply(const struct pprof_meta *meta, struct pprof_tables *tables);
