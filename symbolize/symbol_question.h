/* SPDX-License-Identifier: Apache-2.0 */
/* One reading of an object's file, for names of addresses and what is inlined there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "obj/identity.h"
#include "symbolize/symbol_source.h"

struct symbol_question {
	int fd;			 /* borrowed */
	const char *path;	 /* borrowed */
	struct file_stamp stamp; /* of the file when it was registered, as trust */
	struct trust trust;
	uint64_t *vaddrs; /* owned [nr], ascending */
	size_t nr;
	bool lines;   /* what is inlined is wanted, too */
	bool mangled; /* names are to be as the file has them: the source's business */
};

struct symbol_answer {
	int code; /* 0, or why there are no names; err says it, too */
	struct fpl_err err;
	struct symbol_places places; /* owned; valid where code is 0 */
	bool has_no_lines;	     /* it has no debugging information, or none that can be read */
};

void symbol_question_fini(struct symbol_question *question);

/*
 * Ask @source. A file that was written to since has no names: -ESTALE. One that fails over what is
 * inlined keeps its names, which is said.
 */
void symbol_question_ask(const struct symbol_question *question, const struct symbol_source *source,
			 struct symbol_answer *ret);
