/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the JSON of requests with a pprof, and the form of answers to it. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "push/http.h"
#include "push/labels.h"
#include "push/profiles.h"
#include "view/json.h"

/* The labels of a series as an array of names and values, with its metric @metric before them. */
void series_write_labels(struct json *json, const char *metric, const struct labels *labels);

/* The one sample of a series: an array with the pprof of @profile in base64. */
void series_write_samples(struct json *json, const struct profile *profile);

/* Is it JSON of an object, as such a server answers? */
bool series_is_object(const struct http_answer *answer);
