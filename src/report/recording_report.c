/* SPDX-License-Identifier: Apache-2.0 */
#include "report/recording_report.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "recording/keys.h"
#include "recording/sample_type.h"
#include "view/measure.h"
#include "report/problems.h"
#include "report/recording_tally.h"
#include "report/report_lines.h"
#include "report/tally.h"
#include "view/share.h"

static void write_user_stacks(FILE *to, const struct recording_tally *user)
{
	uint64_t complete = user->stops[FPL_STOP_OUTERMOST];

	if (user->judged)
		fprintf(to, "  complete     %.2f %% (%" PRIu64 " of %" PRIu64 " user stacks)\n",
			share_whole_percent(complete, user->judged), complete, user->judged);
	if (user->told)
		stops_write(to, user->stops);
	marked_write(to, user->by_origin, user->nr);
}

static enum fpl_stop most_common_stop(const struct recording_tally *user)
{
	unsigned most = FPL_STOP_OUTERMOST + 1;

	for (unsigned i = most; i < FPL_STOP_COUNT; i++) {
		if (stop_is_judged((uint8_t)i) && user->stops[i] > user->stops[most])
			most = i;
	}
	return (enum fpl_stop)most;
}

/* The place that the recording itself lists first; filters drop that list. */
static void write_cut_short(FILE *to, const struct recording *recording,
			    const struct recording_tally *user)
{
	const char *function = recording_note(recording, "incomplete.most[].0.function");
	const char *object = recording_note(recording, "incomplete.most[].0.object");
	const char *stop = recording_note(recording, "incomplete.most[].0.stop");
	const char *advice = recording_note(recording, "incomplete.most[].0.advice");
	uint64_t incomplete = user->judged - user->stops[FPL_STOP_OUTERMOST];
	char text[512];

	if (share_percent(incomplete, user->judged) < WORTH_A_LINE)
		return;
	fprintf(to, "  cut short    %.1f %% of the stacks, most of them ",
		share_whole_percent(incomplete, user->judged));
	if (!stop) {
		enum fpl_stop most = most_common_stop(user);

		fprintf(to, "by %s: %s\n", stop_key(most), stop_text(most));
		return;
	}
	text_escape(text, sizeof(text), function ? function : "code without a frame", "");
	fprintf(to, "in %s (", text);
	if (object) {
		text_escape(text, sizeof(text), text_path_name(object), "");
		fprintf(to, "%s, ", text);
	}
	text_escape(text, sizeof(text), stop, "");
	fprintf(to, "%s)", text);
	if (advice) {
		text_escape(text, sizeof(text), advice, "");
		fprintf(to, ": %s", text);
	}
	putc('\n', to);
}

/* Differences between the files. */
static void write_differences(FILE *to, const struct recording *recording,
			      const struct merge_result *result)
{
	if (result->events_differ)
		fputs("  events       differ between the files: the first's is said\n", to);
	if (result->periods_differ)
		fprintf(to, "  periods      differ between the files: weigh samples by %s\n",
			weight_key(recording));
	if (result->kernels_differ)
		fputs("  kernels      differ between the files: the first's is said\n", to);
	if (result->has_weight && result->has_weightless)
		fputs("  weights      are missing in some files: their samples weigh nothing\n",
		      to);
}

/* Unless @always only if they do not close. */
static void write_books(FILE *to, const struct recording_report *report, uint64_t lost, bool always)
{
	const struct recording *recording = report->recording;

	uint64_t fired = recording_number(recording, "fired");
	uint64_t idle = recording_number(recording, "idle");
	uint64_t filtered = recording_number(recording, "filtered");
	uint64_t right = report->shown + idle + filtered + lost;

	if (fired == right && !always)
		return;
	fprintf(to,
		"  books        fired %" PRIu64 " = shown %" PRIu64 " + idle %" PRIu64
		" + filtered %" PRIu64 " + lost %" PRIu64,
		fired, report->shown, idle, filtered, lost);
	if (fired == right)
		fputs(": closed\n", to);
	else
		fprintf(to, ": DO NOT CLOSE, off by %" PRId64 "\n", (int64_t)(fired - right));
}

static void write_expected(FILE *to, const struct recording *recording)
{
	uint64_t expected = recording_number(recording, "expected");
	uint64_t counted = recording_number(recording, "counted");
	uint64_t missed = recording_number(recording, "missed");

	if (expected)
		fprintf(to,
			"  expected     %" PRIu64 " samples by the clock, %" PRIu64
			" missed (%.2f %%)\n",
			expected, missed, share_whole_percent(missed, expected));
	else if (counted)
		fprintf(to,
			"  counted      %" PRIu64 " samples due by the kernel's count, %" PRIu64
			" missed (%.2f %%)\n",
			counted, missed, share_whole_percent(missed, counted));
}

/* " of page-faults": of a clock everybody knows. */
static void write_event(FILE *to, const struct recording *recording)
{
	char text[128];

	if (!recording->weight_unit || !sample_type_is_samples(recording) || !recording->event)
		return;
	text_escape(text, sizeof(text), recording_string(recording, recording->event), "");
	fprintf(to, " of %s%s", text, sample_type_after(text));
}

static void write_samples(FILE *to, const struct recording_report *report,
			  const struct recording_tally *user, const struct recording_losses *losses,
			  bool shares)
{
	const struct recording *recording = report->recording;
	char counted[128], said[256];
	struct measure measure;

	measure_init(recording, &measure);
	fputs("fpless: ", to);
	summary_write_number(to, report->shown);
	fprintf(to, " %s", sample_type_counted(recording, report->shown, counted, sizeof(counted)));
	write_event(to, recording);
	if (measure.weight && measure_sum(recording) != report->shown)
		fprintf(to, " (%s)",
			measure_said(&measure, measure_sum(recording), said, sizeof(said)));
	fprintf(to, " of %zu file%s", report->result->nr, report->result->nr == 1 ? "" : "s");
	if (recording->duration_ns)
		fprintf(to, ", %.1f s", (double)recording->duration_ns / 1e9);
	if (user->judged)
		summary_write_complete(to, user->stops[FPL_STOP_OUTERMOST], user->judged, shares);
	if (losses->told)
		summary_write_lost(to, losses->sum);
	putc('\n', to);
}

static void write_sampled(FILE *to, const struct recording *recording)
{
	const char *event = recording_string(recording, recording->event);
	char text[128];

	if (!*event)
		return;
	text_escape(text, sizeof(text), event, "");
	fprintf(to, "  sampled      %s", text);
	if (recording->hz)
		fprintf(to, " at %" PRIu64 " Hz", recording->hz);
	else if (recording->weight_unit && recording->period > 1)
		fprintf(to, ", one in %" PRIu64, recording->period);
	if (recording->nr_cpus)
		fprintf(to, " on %" PRIu32 " CPUs", recording->nr_cpus);
	putc('\n', to);
}

static uint64_t weight_of(const struct recording *recording)
{
	uint64_t weight = 0;

	for (size_t i = 0; i < recording->nr_stacks; i++)
		weight += recording->stacks[i].weight;
	return weight;
}

void recording_report_write(FILE *to, const struct recording_report *report, bool details)
{
	const struct recording *recording = report->recording;
	uint64_t weight = weight_of(recording);
	struct measure measure;
	struct recording_tally user;
	struct recording_losses losses;
	bool shares;

	measure_init(recording, &measure);
	shares = recording->weight_unit ? report->shown >= SUMMARY_SHARE_EVENTS
					: !weight || weight >= SUMMARY_SHARE_NS;
	recording_tally_count(recording, &user);
	recording_losses_count(recording, &losses);
	write_samples(to, report, &user, &losses, shares);
	summary_write_outputs(to, report->outputs, report->nr_outputs);
	if (shares)
		summary_write_unnamed(to, &report->unnamed);
	if (details) {
		write_sampled(to, recording);
		write_user_stacks(to, &user);
	} else if (shares) {
		write_cut_short(to, recording, &user);
	}
	write_differences(to, recording, report->result);
	if (report->result->refused)
		fprintf(to,
			"  refused      %" PRIu64 " samples, by the filters: counted filtered\n",
			report->result->refused);
	losses_write(to, losses.by_reason, !recording->weight_unit);
	write_books(to, report, losses.sum, details);
	if (details)
		write_expected(to, recording);
}
