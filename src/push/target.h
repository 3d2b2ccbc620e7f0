/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of servers that profiles are sent to: a file and a line for each. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "push/http.h"
#include "push/labels.h"
#include "push/profiles.h"

#define TARGET_ANY_AGE UINT64_MAX

/* The fate of a profile, by an answer. */
enum verdict {
	VERDICT_TAKEN,
	VERDICT_LATER,	 /* it may be taken another time, or the server is not what it should be */
	VERDICT_REFUSED, /* it never will */
	VERDICT_UNCERTAIN, /* it may have been taken */
};

struct target {
	const char *name;	  /* as fpless push has it */
	const char *path;	  /* behind the URL of the server */
	const char *content_type; /* of a request */
	const char *encoding;	  /* of a request; NULL: none */
	const char *format;	  /* of fpless query profiles, with labels; NULL: pprof */
	uint64_t max_age_ns;	  /* it refuses what began before, by default; TARGET_ANY_AGE */
	/* It adds up what it is sent twice: what may have been taken is not sent again. */
	bool once_only;

	/* Write the body of a request. */
	void (*write)(FILE *to, const struct profile *profile, const struct labels *labels);
	/* Judge an answer that came. */
	enum verdict (*judge)(const struct http_answer *answer);
};

/* The verdict on an answer of another status than 200: what is wrong with a request stays wrong,
 * but for a limit on what comes in a second, which is 422, too. */
enum verdict target_judge_status(const struct http_answer *answer);

/* NULL: no target has this name. */
const struct target *target_find(const char *name);

extern const struct target target_pyroscope, target_otlp, target_parca;
