/* SPDX-License-Identifier: Apache-2.0 */
#include "push/push_metrics.h"

#include <inttypes.h>

#include "base/clock.h"
#include "base/output_file.h"
#include "base/prometheus.h"

static const char *const fates[PUSH_FATE_COUNT] = {
#define X(name, key) [PUSH_##name] = (key),
	PUSH_FATE_LIST(X)
#undef X
};

void push_sums_write_status(FILE *to, const struct push_sums *sums)
{
	fprintf(to, "%" PRIu64 " window%s, %" PRIu64 " profiles with %" PRIu64 " samples sent",
		sums->windows, sums->windows == 1 ? "" : "s", sums->profiles[PUSH_SENT],
		sums->samples[PUSH_SENT]);
	for (size_t i = 0; i < PUSH_FATE_COUNT; i++)
		if (i != PUSH_SENT && (sums->profiles[i] || sums->samples[i]))
			fprintf(to, ", %" PRIu64 " with %" PRIu64 " %s", sums->profiles[i],
				sums->samples[i], fates[i]);
}

/* A family with a number for each fate. */
static void write_fates(FILE *to, const char *name, const char *target, const char *help,
			const uint64_t values[PUSH_FATE_COUNT])
{
	prometheus_family(to, name, "counter", help);
	for (size_t i = 0; i < PUSH_FATE_COUNT; i++) {
		const struct prometheus_label labels[] = { { "target", target },
							   { "outcome", fates[i] } };

		prometheus_series(to, name, labels, 2);
		fprintf(to, "%" PRIu64 "\n", values[i]);
	}
}

static void write_one(FILE *to, const char *name, const char *target, const char *type,
		      const char *help, uint64_t value)
{
	prometheus_family(to, name, type, help);
	prometheus_labelled(to, name, "target", target, value);
}

static void write_metrics(FILE *to, const struct push_sums *sums, const char *target)
{
	write_fates(to, "push_profiles_total", target, "Profiles of the store's windows.",
		    sums->profiles);
	write_fates(to, "push_samples_total", target, "Samples of the store's windows.",
		    sums->samples);
	write_one(to, "push_windows_total", target, "counter", "Windows dealt with.",
		  sums->windows);
	write_one(to, "push_failures_total", target, "counter",
		  "Requests that were not answered as they should be.", sums->failures);
	write_one(to, "push_bytes_total", target, "counter", "Bytes of bodies sent.", sums->bytes);
	write_one(to, "push_last_window_timestamp_seconds", target, "gauge",
		  "When the last window that was dealt with ended.",
		  sums->last_window_ns / NS_PER_S);
	write_one(to, "push_last_sent_timestamp_seconds", target, "gauge",
		  "When the target last took a profile.", sums->last_sent_ns / NS_PER_S);
}

int push_sums_replace_metrics(const char *path, const struct push_sums *sums, const char *target,
			      struct fpl_err *err)
{
	struct output_file file = { 0 };
	int code = output_file_open(path, &file, err);

	if (code)
		return code;
	write_metrics(file.stream, sums, target);
	return output_file_commit(&file, err);
}
