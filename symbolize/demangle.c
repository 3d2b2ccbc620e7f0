/* SPDX-License-Identifier: Apache-2.0 */
#include "symbolize/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>
#undef ARRAY_SIZE /* libiberty has its own */

#include "base/cleanup.h"

#define D_IN_MAX	 2048u /* recursion is as deep as a name is long */
#define D_REFERENCES_MAX 32u

struct output {
	char *text; /* room for DEMANGLE_OUT_MAX bytes */
	size_t len;
	jmp_buf too_long;
};

static void append(const char *text, size_t len, void *opaque)
{
	struct output *out = opaque;

	/*
	 * The demangler has no way to be told to stop and would go on for hours; it holds its state
	 * on the stack, so leaving it by a jump loses nothing.
	 */
	if (len > DEMANGLE_OUT_MAX - out->len)
		longjmp(out->too_long, 1);
	if (len) /* an empty piece may come as NULL */
		memcpy(out->text + out->len, text, len);
	out->len += len;
}

static bool run(const char *mangled, struct output *out)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;

	if (setjmp(out->too_long))
		return false;
	if (rust_demangle_callback(mangled, options, append, out))
		return true;
	/* Text of a failed attempt does not count. */
	out->len = 0;
	return cplus_demangle_v3_callback(mangled, options, append, out) != 0;
}

/*
 * D has no callback to stop at: what it writes is bounded by what a name may say. Each reference
 * back ("Q") can have the text before it once more, so two of them double it.
 */
static char *demangle_d(const char *mangled)
{
	size_t len = strnlen(mangled, D_IN_MAX + 1), nr_references = 0;
	AUTO_FREE char *bare = NULL, *text = NULL;
	const char *suffix = strchrnul(mangled, '@');
	char *ret = NULL;

	for (size_t i = 0; i < len; i++)
		nr_references += mangled[i] == 'Q';
	if (len > D_IN_MAX || nr_references > D_REFERENCES_MAX)
		return NULL;
	bare = strndup(mangled, (size_t)(suffix - mangled));
	text = bare ? dlang_demangle(bare, DMGL_DLANG) : NULL;
	if (!text || strnlen(text, DEMANGLE_OUT_MAX) == DEMANGLE_OUT_MAX ||
	    asprintf(&ret, "%s%s", text, suffix) < 0)
		return NULL;
	return ret;
}

char *demangle_name(const char *mangled)
{
	AUTO_FREE char *text = NULL, *bare = NULL;
	struct output out = { .len = 0 };
	const char *suffix;

	if (mangled[0] == '_' && mangled[1] == 'D' &&
	    ((mangled[2] >= '1' && mangled[2] <= '9') || strcmp(mangled + 2, "main") == 0))
		return demangle_d(mangled);
	/* All else that libiberty takes starts like this; most names of C programs do not. */
	if (mangled[0] != '_' || (mangled[1] != 'Z' && mangled[1] != 'R'))
		return NULL;
	if (strnlen(mangled, DEMANGLE_IN_MAX + 1) > DEMANGLE_IN_MAX)
		return NULL;
	text = malloc(DEMANGLE_OUT_MAX + DEMANGLE_IN_MAX + 1);
	/* "@plt" and its like are no part of the mangling. */
	suffix = strchrnul(mangled, '@');
	bare = strndup(mangled, (size_t)(suffix - mangled));
	if (!text || !bare)
		return NULL;
	out.text = text;
	if (!run(bare, &out) || out.len == 0)
		return NULL;
	memcpy(text + out.len, suffix, strlen(suffix) + 1);
	return strdup(text);
}
