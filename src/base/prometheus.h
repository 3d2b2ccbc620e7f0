/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics as text of Prometheus, version 0.0.4: families of fpless, each whole in one place, and
 * their numbers. Names are given without "fpless_".
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define PROMETHEUS_LABEL_SIZE 256u

/* A label of a number. @text may be any: see prometheus_label(). */
struct prometheus_label {
	const char *name, *text;
};

/* @type: "counter" or "gauge". @help: a sentence. */
void prometheus_family(FILE *to, const char *name, const char *type, const char *help);

/* A family with one number, without labels. */
void prometheus_number(FILE *to, const char *name, const char *type, uint64_t value,
		       const char *help);

/* The same in seconds, exactly. */
void prometheus_time(FILE *to, const char *name, const char *type, uint64_t ns, const char *help);

/* "NAME{LABELS} " to @to, behind which the caller writes the value. */
void prometheus_series(FILE *to, const char *name, const struct prometheus_label *labels,
		       size_t nr);

/* A number with one label. */
void prometheus_labelled(FILE *to, const char *name, const char *label, const char *text,
			 uint64_t value);

/* Make a text that may stand between quotes, but for its backslashes: valid UTF-8, cut where it is
 * long. Two texts that are the same then are one series. */
void prometheus_label(const char *text, char ret[static PROMETHEUS_LABEL_SIZE]);
