/* SPDX-License-Identifier: Apache-2.0 */
#include "report/unnamed_code.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "naming/names.h"
#include "profile/script_codes.h"
#include "report/code_tally.h"
#include "report/problems.h"
#include "view/languages.h"
#include "view/share.h"

#define V8_LANGUAGE "javascript" /* of SCRIPT_LANGUAGE_LIST */

static bool is_of(const struct profile_stack *stack, const struct code_process *process)
{
	return stack->pid == process->pid && stack->start_ns == process->start_ns;
}

/* The languages of @process, by the objects in its stacks. Returns their number. */
static size_t find_languages(const struct profile *profile, const struct code_process *process,
			     struct language *ret)
{
	size_t nr = 0;

	for (size_t i = 0; i < profile->nr_stacks; i++) {
		const struct profile_stack *stack = &profile->stacks[i];

		if (!is_of(stack, process))
			continue;
		for (size_t j = 0; j < stack->nr_user; j++) {
			uint64_t frame = stack->frames[j];
			uint32_t object = frame_is_raw(frame) ? 0 : frame_object(frame);

			if (object > 0 && object <= profile->nr_objects &&
			    profile->objects[object - 1].path)
				languages_add(ret, &nr, profile->objects[object - 1].path);
		}
	}
	return nr;
}

/* Are functions of V8 in stacks of @process? Then those without a name are of the first stacks. */
static bool has_v8(const struct profile *profile, const struct code_process *process)
{
	for (size_t i = 0; profile->script_codes && i < profile->nr_stacks; i++) {
		const struct profile_stack *stack = &profile->stacks[i];
		struct script_frame frame;

		if (!is_of(stack, process))
			continue;
		for (size_t j = 0; j < stack->nr_user; j++) {
			if (fpl_frame_is_script(stack->frames[j]) &&
			    script_codes_find(profile->script_codes, stack->frames[j], &frame) &&
			    !strcmp(frame.language, V8_LANGUAGE))
				return true;
		}
	}
	return false;
}

/* Write what names the code of @language in the next run. */
static void write_language(FILE *to, const struct language *language)
{
	char own[LANGUAGE_NAME_MAX], other[LANGUAGE_NAME_MAX];
	const char *name = language_name(language, own, sizeof(own));
	const char *first = language_first(language, other, sizeof(other));
	const char *way = language_next_way(language);

	if (way)
		fprintf(to, "%s: %s", name, way);
	else
		fprintf(to, "%s cannot name what it compiles", name);
	if (first && !way)
		fprintf(to, "; %s and later can", first);
	else if (first && !language->has_version)
		fprintf(to, " (%s or later)", first);
}

static void write_way(FILE *to, const struct profile *profile, const struct code_process *process)
{
	struct language languages[LANGUAGES_MAX];
	size_t nr = find_languages(profile, process, languages), best = 0;

	while (best < nr && !language_next_way(&languages[best]))
		best++;
	if (nr)
		write_language(to, &languages[best < nr ? best : 0]);
	else
		fputs("a perf map or a jitdump names it; does its program have an option that "
		      "writes one",
		      to);
}

void unnamed_code_write(FILE *to, const struct profile *profile, const struct tally *tally)
{
	struct code_tally code;
	struct code_process process;
	double percent;

	code_tally_count(profile, &code);
	percent = share_percent(code.frames - code.named, tally->frames);
	if (profile->fp_only || percent < WORTH_A_LINE ||
	    !code_tally_most_unnamed(profile, &process))
		return;
	fprintf(to,
		"  run time     %.0f %% of the frames are code made at run time without a name: ",
		percent);
	if (has_v8(profile, &process))
		fputs("stacks from before the table of its V8 was there; the next run has that table",
		      to);
	else if (kill((pid_t)process.pid, 0) < 0 && errno == ESRCH)
		write_way(to, profile, &process);
	else
		fprintf(to, "`fpless doctor %u' says how to get one", process.pid);
	putc('\n', to);
}
