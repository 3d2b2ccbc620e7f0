/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel features that the programs need, found by trial: distributions bring features to older
 * versions, and leave some out of newer ones.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* X(name, text, version of Linux it came with); the youngest first, for the message that names one
 */
#define FEATURE_LIST(X)                                \
	X(LOOP, "bpf_loop", "5.17")                    \
	X(TASK_PT_REGS, "bpf_task_pt_regs", "5.15")    \
	X(RINGBUF, "BPF ring buffer", "5.8")           \
	X(READ_KERNEL, "bpf_probe_read_kernel", "5.5") \
	X(PERF_EVENT, "perf_event programs", "4.9")

#define X(name, text, since) FEATURE_##name,
enum feature { FEATURE_LIST(X) FEATURE_COUNT };
#undef X

const char *feature_text(enum feature feature);
const char *feature_since(enum feature feature);

/* Results of the trials. */
struct features {
	int bpf;		    /* of loading the smallest program: 0, or a negative errno */
	int present[FEATURE_COUNT]; /* 1 yes, 0 no, negative errno: cannot be told */
};

/*
 * Ask the kernel for each. Without the right to load programs nothing can be told, which is not the
 * same as no. Cost: below 1 ms.
 */
void features_probe(struct features *ret);

/* Load the smallest program. Returns 0, or the negative errno of the refusal. */
int features_may_load(void);

/* Can a program be attached to the kernel's tracepoint @name, also to one that tracefs does not
 * list? Needs the right to load programs. Cost: below 1 ms. */
bool features_has_tracepoint(const char *name);

/* Say that @feature is missing; returns -EOPNOTSUPP. */
int feature_fail(struct fpl_err *err, enum feature feature);

/*
 * Something of the kernel side failed with @code, as @err says: if a feature is missing, that is
 * why, and @err says so instead. Returns what the caller is to return.
 */
int features_explain(struct fpl_err *err, int code);
