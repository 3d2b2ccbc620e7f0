/* SPDX-License-Identifier: Apache-2.0 */
/* The labels of a profile. */
#pragma once

#include <stddef.h>

#include "push/profiles.h"

#define LABELS_MAX 32u

struct label {
	const char *name, *value; /* borrowed */
};

struct labels {
	struct label list[LABELS_MAX]; /* [nr] */
	size_t nr;
};

/* Labels that all profiles have. */
struct labels_given {
	char *text; /* owned: what list points into */
	struct labels labels;
	char host[65];
};

/* @text: lines of NAME=VALUE; host is the machine's name where it is not among them. */
void labels_given_init(const char *text, struct labels_given *ret);
void labels_given_fini(struct labels_given *given);

/*
 * The labels of @profile: service_name, which is the name of its unit, its state, and what was
 * given, which comes first. All is borrowed of both.
 */
void labels_of(const struct profile *profile, const struct labels_given *given, struct labels *ret);

/* Make @text a name that all targets take, of letters, digits and _: "sched:x-y" is "sched_x_y". */
void labels_make_name(const char *text, char *ret, size_t size);
