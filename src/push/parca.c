/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parca: WriteRaw as JSON, a pprof for each request. It adds up what it is sent twice. Every path
 * that it does not know is answered by its page, and 200.
 */
#include "push/series.h"
#include "push/target.h"

static void write_request(FILE *to, const struct profile *profile, const struct labels *labels)
{
	struct json json = { .to = to };
	char type[PROFILES_WORD_SIZE + 1], metric[PROFILES_WORD_SIZE + 16];

	labels_make_name(profile->type, type, sizeof(type));
	snprintf(metric, sizeof(metric), "fpless_%s", type);
	json_open(&json, NULL, '{');
	json_bool(&json, "normalized", false);
	json_open(&json, "series", '[');
	json_open(&json, NULL, '{');
	json_open(&json, "labels", '{');
	series_write_labels(&json, metric, labels);
	json_close(&json, '}');
	series_write_samples(&json, profile);
	json_close(&json, '}');
	json_close(&json, ']');
	json_close(&json, '}');
}

static enum verdict judge(const struct http_answer *answer)
{
	switch (answer->status) {
	case 200:
		return series_is_object(answer) ? VERDICT_TAKEN : VERDICT_LATER;
	case 400:
	case 413:
		return VERDICT_REFUSED;
	case 500:
	case 502:
	case 504:
		/* it may have failed behind the taking */
		return VERDICT_UNCERTAIN;
	default:
		return VERDICT_LATER;
	}
}

const struct target target_parca = {
	.name = "parca",
	.path = "/api/profiles/writeraw",
	.content_type = "application/json",
	.max_age_ns = TARGET_ANY_AGE,
	.once_only = true,
	.write = write_request,
	.judge = judge,
};
