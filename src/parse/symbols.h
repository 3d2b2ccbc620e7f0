/* SPDX-License-Identifier: Apache-2.0 */
/* A symbolizer's source: each question about an object is a request to a worker, debug file
 * included. */
#pragma once

#include "base/err.h"
#include "parse/desk.h"
#include "symbolize/symbol_source.h"

struct symbols {
	struct desk *desk;	     /* owned */
	struct symbol_source source; /* to be lent to the symbolizer; ctx is this struct */
};

/* @parser: borrowed. *ret must not move. Errors: -ENOMEM. */
FPL_MUST_CHECK int symbols_init(struct symbols *ret, struct parser *parser, struct fpl_err *err);
/* From here on names are as the files have them. */
void symbols_mangled(struct symbols *symbols);
void symbols_fini(struct symbols *symbols);
