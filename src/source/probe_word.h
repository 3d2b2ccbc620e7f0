/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of probes, as bpftrace has them:
 *
 *   uprobe:FILE:FUNC[+OFF]    uretprobe:FILE:FUNC    usdt:FILE:PROVIDER:NAME
 *   kprobe:FUNC[+OFF]         kretprobe:FUNC
 *
 * FILE ends at the first colon. FUNC is the name of a symbol, or 0x and an address in the file.
 * Pure.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum probe_kind {
	PROBE_UPROBE,	 /* before an instruction of a program */
	PROBE_URETPROBE, /* a function of a program has returned */
	PROBE_USDT,	 /* a place that the program's author has named */
	PROBE_KPROBE,	 /* before an instruction of the kernel */
	PROBE_KRETPROBE, /* a function of the kernel has returned */
};

#define PROBE_NAME_MAX 1024 /* bytes of a symbol's name, a provider's, a probe's */

struct probe_word {
	enum probe_kind kind;
	char file[PATH_MAX];	       /* "": the kernel */
	char provider[PROBE_NAME_MAX]; /* of USDT */
	char name[PROBE_NAME_MAX];     /* of the function; of USDT of the probe */
	uint64_t off;		       /* bytes from the function's beginning */
};

/* Does the word begin as a probe's? */
bool probe_word_is(const char *word);

/* Parse @word. Writes *ret on success only. -EINVAL, with a line that begins with the word. */
FPL_MUST_CHECK int probe_word_parse(const char *word, struct probe_word *ret, struct fpl_err *err);

/* "uprobe" */
const char *probe_kind_text(enum probe_kind kind);

static inline bool probe_is_of_kernel(enum probe_kind kind)
{
	return kind == PROBE_KPROBE || kind == PROBE_KRETPROBE;
}

/* Does it hit when a function has returned? Then it has its result, not its arguments. */
static inline bool probe_is_return(enum probe_kind kind)
{
	return kind == PROBE_URETPROBE || kind == PROBE_KRETPROBE;
}

/* A name of @word of at most @size - 1 bytes: of a long one FILE without its folders, or only its
 * beginning. */
void probe_word_name(const char *word, char *name, size_t size);
