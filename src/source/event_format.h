/* SPDX-License-Identifier: Apache-2.0 */
/* The fields of an event's record: of a tracepoint's, from the text of its format file in tracefs;
 * source/probe_fields.h has those of probes. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "bpf/shared.h"

#define EVENT_FIELDS_MAX 128u /* the kernel's largest record has some 60 */

struct event_field {
	const char *type, *name; /* in event_format.text, or static; type with its stars and
				    brackets; of a probe its operand */
	struct fpl_field field;	 /* kind FPL_FIELD_NONE: neither a number nor a text */
};

struct event_format {
	char *text; /* owned */
	struct event_field fields[EVENT_FIELDS_MAX];
	size_t nr;
};

/*
 * Parse the text of the format file of a tracepoint of @category. The common fields, which programs
 * cannot read, are left out. Fields of system calls have the size of their C type: each is the
 * argument as its register has it. Errors: -EINVAL, with the line; -ENOMEM.
 */
FPL_MUST_CHECK int event_format_parse(const char *text, const char *category,
				      struct event_format *ret, struct fpl_err *err);
void event_format_fini(struct event_format *format);

/* "str(NAME)", as bpftrace writes it, is the field NAME if that is a text. NULL: there is no such
 * field. */
const struct event_field *event_format_find(const struct event_format *format, const char *name,
					    size_t len);
