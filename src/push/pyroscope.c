/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Grafana Pyroscope: push.v1.PusherService/Push as JSON, a pprof for each request. What has the
 * labels and the beginning of another profile is dropped there: sending again is safe.
 */
#include <string.h>

#include "base/clock.h"
#include "push/series.h"
#include "push/target.h"

/* The type under which its pages look for the time of CPUs. */
#define CPU_METRIC "process_cpu"

static void write_request(FILE *to, const struct profile *profile, const struct labels *labels)
{
	struct json json = { .to = to };
	char metric[PROFILES_WORD_SIZE + 1];

	labels_make_name(profile->type, metric, sizeof(metric));
	json_open(&json, NULL, '{');
	json_open(&json, "series", '[');
	json_open(&json, NULL, '{');
	series_write_labels(&json, strcmp(metric, "cpu") ? metric : CPU_METRIC, labels);
	series_write_samples(&json, profile);
	json_close(&json, '}');
	json_close(&json, ']');
	json_close(&json, '}');
}

static enum verdict judge(const struct http_answer *answer)
{
	if (answer->status != 200)
		return target_judge_status(answer);
	return series_is_object(answer) ? VERDICT_TAKEN : VERDICT_LATER;
}

const struct target target_pyroscope = {
	.name = "pyroscope",
	.path = "/push.v1.PusherService/Push",
	.content_type = "application/json",
	.max_age_ns = 3600 * NS_PER_S,
	.write = write_request,
	.judge = judge,
};
