/* SPDX-License-Identifier: Apache-2.0 */
/* One reading of an object's file, for names of addresses and what is inlined there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "naming/asker.h"

struct name_question {
	const char *path;     /* borrowed */
	struct met_file file; /* its descriptor is borrowed */
	uint64_t *vaddrs;     /* owned [nr], ascending */
	size_t nr;
	bool lines; /* what is inlined is wanted, too */
};

struct name_answer {
	int code; /* 0, or why there are no names; err says it, too */
	struct fpl_err err;
	struct symbol_places places; /* owned; valid where code is 0 */
	bool has_no_lines;	     /* it has no debugging information, or none that can be read */
};

void name_question_fini(struct name_question *question);

/*
 * Have @asker asked. A file that was written to since it was met has no names: -ESTALE. One that
 * fails over what is inlined keeps its names, which is said.
 */
void name_question_ask(const struct name_question *question, struct asker *asker,
		       struct name_answer *ret);
