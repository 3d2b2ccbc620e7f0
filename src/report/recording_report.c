/* SPDX-License-Identifier: Apache-2.0 */
#include "report/recording_report.h"

#include <inttypes.h>
#include <string.h>

#include "recording/sample_type.h"
#include "report/report_lines.h"
#include "report/tally.h"
#include "view/share.h"

/* Sum of the numbers "lost.*", with each that is not 0 written to @to ("ring_full 3, ..."). */
static uint64_t write_lost(FILE *to, const struct recording *recording)
{
	const char *separator = "  lost         ";
	uint64_t lost = 0;

	for (size_t i = 0; i < recording->nr_numbers; i++) {
		const struct recording_number *number = &recording->numbers[i];
		const char *key = recording_string(recording, number->key);

		if (strncmp(key, "lost.", 5) != 0 || !number->value)
			continue;
		fprintf(to, "%s%s %" PRIu64, separator, key + 5, number->value);
		separator = ", ";
		lost += number->value;
	}
	fputs(lost ? "\n" : "", to);
	return lost;
}

/* Counts of the user stacks: by stop, and by origin of a frame they have. */
struct user_stacks {
	uint64_t stops[FPL_STOP_COUNT], by_origin[FPL_ORIGIN_COUNT];
	uint64_t nr, told; /* all; those with a stop, which other tools do not write */
};

static void count_origins(const struct recording *recording, const struct recording_stack *stack,
			  struct user_stacks *ret)
{
	bool seen[FPL_ORIGIN_COUNT] = { false };

	for (uint32_t i = 0; i < stack->nr_user; i++) {
		uint32_t frame = recording->frame_ids[stack->first_frame + i];
		uint8_t origin = recording->frames[frame].origin;

		if (origin >= FPL_ORIGIN_COUNT || seen[origin])
			continue;
		seen[origin] = true;
		ret->by_origin[origin] += stack->count;
	}
}

static void write_user_stacks(FILE *to, const struct recording *recording)
{
	struct user_stacks user = { .nr = 0 };
	uint64_t judged;

	for (size_t i = 0; i < recording->nr_stacks; i++) {
		const struct recording_stack *stack = &recording->stacks[i];

		bool is_told = stack->stop < FPL_STOP_COUNT;

		if (stack->no_user || (!is_told && !stack->nr_user))
			continue;
		user.nr += stack->count;
		if (is_told) {
			user.told += stack->count;
			user.stops[stack->stop] += stack->count;
		}
		count_origins(recording, stack, &user);
	}
	judged = user.told - user.stops[FPL_STOP_EXITING] - user.stops[FPL_STOP_EXECING];
	if (judged)
		fprintf(to, "  complete     %.2f %% (%" PRIu64 " of %" PRIu64 " user stacks)\n",
			share_whole_percent(user.stops[FPL_STOP_OUTERMOST], judged),
			user.stops[FPL_STOP_OUTERMOST], judged);
	if (user.told)
		stops_write(to, user.stops);
	marked_write(to, user.by_origin, user.nr);
}

/* Differences between the files. */
static void write_differences(FILE *to, const struct merge_result *result)
{
	if (result->events_differ)
		fputs("  events       differ between the files: the first's is said\n", to);
	if (result->periods_differ)
		fputs("  periods      differ between the files: weigh samples by weight_ns\n", to);
	if (result->kernels_differ)
		fputs("  kernels      differ between the files: the first's is said\n", to);
	if (result->has_weight && result->has_weightless)
		fputs("  weights      are missing in some files: their samples weigh nothing\n",
		      to);
}

static void write_books(FILE *to, const struct recording *recording, uint64_t shown, uint64_t lost)
{
	uint64_t fired = recording_number(recording, "fired");
	uint64_t idle = recording_number(recording, "idle");
	uint64_t filtered = recording_number(recording, "filtered");
	uint64_t expected = recording_number(recording, "expected");
	uint64_t missed = recording_number(recording, "missed");
	uint64_t right = shown + idle + filtered + lost;

	fprintf(to,
		"  books        fired %" PRIu64 " = shown %" PRIu64 " + idle %" PRIu64
		" + filtered %" PRIu64 " + lost %" PRIu64,
		fired, shown, idle, filtered, lost);
	if (fired == right)
		fputs(": closed\n", to);
	else
		fprintf(to, ": DO NOT CLOSE, off by %" PRId64 "\n", (int64_t)(fired - right));
	if (expected)
		fprintf(to,
			"  expected     %" PRIu64 " samples by the clock, %" PRIu64
			" missed (%.2f %%)\n",
			expected, missed, share_whole_percent(missed, expected));
}

void recording_report_write(FILE *to, const struct recording *recording,
			    const struct merge_result *result, uint64_t shown)
{
	const char *event = recording_string(recording, recording->event);
	char counted[128];
	uint64_t lost;

	fprintf(to, "fpless: %" PRIu64 " %s of %zu file%s", shown,
		sample_type_text(recording, counted, sizeof(counted)), result->nr,
		result->nr == 1 ? "" : "s");
	if (recording->duration_ns)
		fprintf(to, ", %.1f s", (double)recording->duration_ns / 1e9);
	if (*event)
		fprintf(to, ": %s", event);
	if (recording->hz)
		fprintf(to, " at %" PRIu64 " Hz", recording->hz);
	if (recording->nr_cpus)
		fprintf(to, " on %" PRIu32 " CPUs", recording->nr_cpus);
	putc('\n', to);
	write_user_stacks(to, recording);
	write_differences(to, result);
	if (result->refused)
		fprintf(to,
			"  refused      %" PRIu64 " samples, by the filters: counted filtered\n",
			result->refused);
	lost = write_lost(to, recording);
	write_books(to, recording, shown, lost);
}
