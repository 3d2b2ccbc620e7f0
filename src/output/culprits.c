/* SPDX-License-Identifier: Apache-2.0 */
#include "output/culprits.h"
#include "view/keys.h"
#include "view/share.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "output/remedy.h"
#include "output/tally.h"

static void cleanup_runtimes(struct runtimes *runtimes)
{
	runtimes_fini(runtimes);
}

/* Could the stack have been complete, and is it not? */
static bool is_cut_short(const struct profile_stack *stack)
{
	return !(stack->flags & FPL_SAMPLE_KTHREAD) && stack->stop != FPL_STOP_OUTERMOST &&
	       stack->stop != FPL_STOP_EXITING && stack->stop != FPL_STOP_EXECING;
}

static int find_one(struct names *names, const struct runtimes *runtimes,
		    const struct profile_stack *stack, struct culprit *ret)
{
	struct frame_name name;

	*ret = (struct culprit){
		.samples = stack->count,
		.stop = (enum fpl_stop)stack->stop,
		.runtime = runtimes_of(runtimes, stack),
		.no_frame = stack->nr_user == 0,
	};
	if (ret->no_frame)
		return 0;

	uint64_t frame = stack->frames[stack->nr_user - 1];
	int code;

	names_user(names, stack, frame, &name);

	ret->object = name.object;
	ret->generated = frame_is_raw(frame);
	/* addresses nobody has a name for are one place; what lies at rbp may be any number */
	if (ret->generated && !name.symbol)
		code = strings_intern(&names->strings,
				      names->profile->fp_only ? "an address in no file"
							      : "code made at run time",
				      &ret->text);
	else
		code = names_text(names, &name, &ret->text);
	if (!ret->generated && !ret->runtime && name.symbol)
		ret->runtime = runtime_of_symbol(name.symbol);
	return code;
}

static int compare_places(const void *left, const void *right)
{
	const struct culprit *a = left, *b = right;

	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	if (a->text != b->text)
		return a->text < b->text ? -1 : 1;
	if (a->runtime != b->runtime)
		return a->runtime < b->runtime ? -1 : 1;
	return (a->stop > b->stop) - (a->stop < b->stop);
}

/* Most samples first; else in the order of places, which the profile's order does not change. */
static int compare_samples(const void *left, const void *right)
{
	const struct culprit *a = left, *b = right;

	if (a->samples != b->samples)
		return a->samples > b->samples ? -1 : 1;
	return compare_places(a, b);
}

/* Make equal places one. Returns how many are left. */
static size_t merge_places(struct culprit *list, size_t nr)
{
	size_t kept = 0;

	for (size_t i = 0; i < nr; i++) {
		if (kept && !compare_places(&list[kept - 1], &list[i]))
			list[kept - 1].samples += list[i].samples;
		else
			list[kept++] = list[i];
	}
	return kept;
}

int culprits_find(struct names *names, struct culprits *ret)
{
	CLEANUP(cleanup_runtimes) struct runtimes runtimes = { 0 };
	const struct profile *profile = names->profile;
	AUTO_FREE struct culprit *list = calloc(profile->nr_stacks + 1, sizeof(*list));
	struct tally tally;
	size_t nr = 0;

	tally_count(profile, &tally);
	*ret = (struct culprits){ .names = names, .judged = tally_judged(&tally) };
	if (!profile->user || tally.complete == ret->judged)
		return 0;
	if (!list || runtimes_init(&runtimes, profile))
		return -ENOMEM;
	for (size_t i = 0; i < profile->nr_stacks; i++) {
		const struct profile_stack *stack = &profile->stacks[i];

		if (!is_cut_short(stack))
			continue;
		if (find_one(names, &runtimes, stack, &list[nr]))
			return -ENOMEM;
		ret->samples += list[nr++].samples;
	}
	qsort(list, nr, sizeof(*list), compare_places);
	nr = merge_places(list, nr);
	qsort(list, nr, sizeof(*list), compare_samples);
	ret->nr_places = nr;
	ret->nr = nr < CULPRITS_SHOWN ? nr : CULPRITS_SHOWN;
	memcpy(ret->list, list, ret->nr * sizeof(*list));
	return 0;
}

static const char *runtime_text(enum runtime runtime)
{
	static const char *const texts[RUNTIME_COUNT] = {
#define X(name, text) [RUNTIME_##name] = (text),
		RUNTIME_LIST(X)
#undef X
	};

	return texts[runtime];
}

/* Are there files whose code looks like code made at run time? */
static bool has_files_without_room(const struct profile *profile)
{
	return profile->refused[PROFILE_LIMIT_FILES] || profile->refused[PROFILE_LIMIT_READING] ||
	       profile->refused[PROFILE_LIMIT_OBJECTS];
}

static const char *remedy_of(const struct culprits *culprits, const struct culprit *culprit)
{
	const struct profile *profile = culprits->names->profile;
	enum remedy_without without = profile->fp_only			? WITHOUT_CFI
				      : profile->cfi_only		? WITHOUT_ALL_BUT_CFI
				      : profile->no_synth		? WITHOUT_SYNTH
				      : has_files_without_room(profile) ? WITHOUT_FILES
									: WITHOUT_NOTHING;

	return culprit->no_frame
		       ? NULL
		       : remedy_find(culprit->stop, culprit->runtime, culprit->generated, without);
}

/* Where the function is: the last part of its object's path, or the run time that made it. */
static void place_of(const struct culprits *culprits, const struct culprit *culprit, char *to,
		     size_t size)
{
	const char *path;

	if (!culprit->object) {
		snprintf(to, size, "made at run time%s%s",
			 culprit->runtime		     ? " by "
			 : culprits->names->profile->fp_only ? ", or no code"
			 : has_files_without_room(culprits->names->profile)
				 ? ", or in a file not opened"
				 : "",
			 culprit->runtime ? runtime_text(culprit->runtime) : "");
		return;
	}
	path = culprits->names->profile->objects[culprit->object - 1].path;
	text_escape(to, size, text_path_name(path), "");
}

static void write_one(FILE *to, const struct culprits *culprits, const struct culprit *culprit,
		      const char *last_remedy)
{
	const char *remedy = remedy_of(culprits, culprit);
	char place[128];

	fprintf(to, "  %12" PRIu64 " %-13s ", culprit->samples, stop_key(culprit->stop));
	if (culprit->no_frame) {
		fputs("without a frame\n", to);
	} else {
		place_of(culprits, culprit, place, sizeof(place));
		fprintf(to, "%s  (%s)\n", strings_text(&culprits->names->strings, culprit->text),
			place);
	}
	if (remedy && remedy != last_remedy)
		fprintf(to, "               %s\n", remedy);
}

void culprits_write(FILE *to, const struct culprits *culprits)
{
	const char *last_remedy = NULL;
	uint64_t shown = 0;

	if (!culprits->samples)
		return;
	fprintf(to,
		"  cut short    %" PRIu64 " of %" PRIu64
		" user stacks (%.2f %%), most of them in\n",
		culprits->samples, culprits->judged,
		share_whole_percent(culprits->samples, culprits->judged));
	for (size_t i = 0; i < culprits->nr; i++) {
		write_one(to, culprits, &culprits->list[i], last_remedy);
		last_remedy = remedy_of(culprits, &culprits->list[i]);
		shown += culprits->list[i].samples;
	}
	if (culprits->nr_places > culprits->nr)
		fprintf(to, "  %12" PRIu64 " in %zu other places\n", culprits->samples - shown,
			culprits->nr_places - culprits->nr);
}

static int add_one(struct recording *recording, const struct culprits *culprits, size_t idx)
{
	const struct culprit *culprit = &culprits->list[idx];
	const struct names *names = culprits->names;
	const struct {
		const char *name, *note;
	} notes[] = {
		{ "stop", stop_key(culprit->stop) },
		{ "function",
		  culprit->no_frame ? NULL : strings_text(&names->strings, culprit->text) },
		{ "object",
		  culprit->object ? names->profile->objects[culprit->object - 1].path : NULL },
		{ "advice", remedy_of(culprits, culprit) },
	};
	char key[64];
	int err;

	snprintf(key, sizeof(key), "incomplete.most[].%zu.samples", idx);
	err = recording_add_number(recording, key, culprit->samples);
	for (size_t i = 0; !err && i < ARRAY_SIZE(notes); i++) {
		snprintf(key, sizeof(key), "incomplete.most[].%zu.%s", idx, notes[i].name);
		err = recording_set_note(recording, key, notes[i].note);
	}
	return err;
}

int culprits_add_numbers(struct recording *recording, const struct culprits *culprits)
{
	int err = recording_add_number(recording, "incomplete.samples", culprits->samples);

	if (!err)
		err = recording_add_number(recording, "incomplete.places", culprits->nr_places);
	if (!err)
		err = recording_add_number(recording, "incomplete.most[]", 0);
	for (size_t i = 0; !err && i < culprits->nr; i++)
		err = add_one(recording, culprits, i);
	return err;
}
