/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How far the reading of a function of V8 has come (bpf/script_v8.h). */
#pragma once

#include "bpf/shared_script.h"

#define V8_PARTS_MAX 8u /* of a name, pairs among them; a power of two */

/* A function of V8 that is being read (script_v8.h). */
struct v8_state {
	struct fpl_v8 layout;
	__u64 place;		   /* in the source */
	__u64 script_name, source; /* words that point to strings */
	__u64 parts[V8_PARTS_MAX]; /* [nr_parts]: of the name, the next one last */
	__u32 nr_parts;
	__u32 run; /* of small integers in its ScopeInfo */
	/* a string */
	__u64 word, object;
	__u64 skipped;	  /* characters */
	__u64 addr, left; /* bytes */
	__u32 length, type, found, is_wide;
	__u32 lines, text;
};
