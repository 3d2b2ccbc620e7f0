/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words behind --filter, as perf and the kernel have them: comparisons of fields, with !, &&,
 * || and parentheses.
 *
 *   FIELD == != < <= > >= & NUMBER     FIELD == != ~ !~ "TEXT"     FIELD: it is not 0
 *
 * FIELD is a word, or str(WORD): the text at the address in that field.
 * Numbers are decimal, 0x, 0, and negative; texts stand in quotes, or are a word. ~ takes * and ?.
 */
#pragma once

#include "base/err.h"
#include "bpf/shared.h"
#include "source/event_format.h"

/*
 * Compile @text into tests and texts of @ret, whose other members stay. Errors: -EINVAL with a line
 * that says what is wrong from which column on, and where a field is not known, which there are.
 */
FPL_MUST_CHECK int event_filter_compile(const char *text, const struct event_format *format,
					struct fpl_source *ret, struct fpl_err *err);
