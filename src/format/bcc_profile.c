/* SPDX-License-Identifier: Apache-2.0 */
#include "format/bcc_profile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "view/measure.h"

/* A stack as it is printed, less its count. */
struct entry {
	uint64_t shown;
	char *text; /* owned */
	uint32_t pid;
};

struct entries {
	struct entry *list; /* owned [nr] */
	size_t nr;
};

static void entries_fini(struct entries *entries)
{
	for (size_t i = 0; i < entries->nr; i++)
		free(entries->list[i].text);
	free(entries->list);
}

/* "[1, 2]" */
static void put_list(FILE *to, const pid_t *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		fprintf(to, "%s%d", i ? ", " : "[", (int)list[i]);
	putc(']', to);
}

void bcc_profile_head(FILE *to, const struct bcc_profile *options)
{
	if (options->folded)
		return;
	if (options->period)
		fprintf(to, "Sampling at every %" PRIu64 " events of ", options->period);
	else
		fprintf(to, "Sampling at %" PRIu64 " Hertz of ", options->hz);
	if (options->nr_pids) {
		fputs("PID ", to);
		put_list(to, options->pids, options->nr_pids);
	} else if (options->nr_tids) {
		fputs("TID ", to);
		put_list(to, options->tids, options->nr_tids);
	} else {
		fputs("all threads", to);
	}
	fprintf(to, " by %s stack",
		options->user_only     ? "user"
		: options->kernel_only ? "kernel"
				       : "user + kernel");
	if (options->cpu >= 0)
		fprintf(to, " on CPU#%d", options->cpu);
	if (options->seconds)
		fprintf(to, " for %" PRIu64 " secs.\n", options->seconds);
	else
		fputs("... Hit Ctrl-C to end.\n", to);
}

/* Without what a terminal would obey, or what would break a folded line. */
static void put_safe(FILE *to, const char *text)
{
	size_t size = text_escape(NULL, 0, text, ";") + 1;
	AUTO_FREE char *safe = must_malloc(size);

	text_escape(safe, size, text, ";");
	fputs(safe, to);
}

/* Frame @i of @stack, with @before and @after around it. */
static void put_frame(FILE *to, const struct bcc_profile *options,
		      const struct recording *recording, const struct recording_stack *stack,
		      size_t i, const char *before, const char *after)
{
	const struct recording_frame *frame = recording_frame_at(recording, stack, i);
	const struct recording_function *function = recording_function_of(recording, frame);

	fputs(before, to);
	if (function)
		put_safe(to, recording_string(recording, function->name));
	else
		fputs("[unknown]", to);
	if (options->annotate && frame->kind == RECORDING_KERNEL)
		fputs("_[k]", to);
	fputs(after, to);
}

static bool is_delimited(const struct bcc_profile *options, const struct recording_stack *stack)
{
	return options->delimited && stack->nr_user && stack->nr_kernel;
}

/* comm;root;...;leaf, the kernel last. */
static void put_folded(FILE *to, const struct bcc_profile *options,
		       const struct recording *recording, const struct recording_stack *stack)
{
	put_safe(to, recording_string(recording, stack->comm));
	for (size_t i = stack->nr_user; i-- > 0;)
		put_frame(to, options, recording, stack, i, ";", "");
	if (is_delimited(options, stack))
		fputs(";-", to);
	for (size_t i = (size_t)stack->nr_user + stack->nr_kernel; i-- > stack->nr_user;)
		put_frame(to, options, recording, stack, i, ";", "");
}

/* A line per frame, leaf and kernel first. */
static void put_lines(FILE *to, const struct bcc_profile *options,
		      const struct recording *recording, const struct recording_stack *stack)
{
	for (size_t i = 0; i < stack->nr_kernel; i++)
		put_frame(to, options, recording, stack, stack->nr_user + i, "    ", "\n");
	if (is_delimited(options, stack))
		fputs("    --\n", to);
	for (size_t i = 0; i < stack->nr_user; i++)
		put_frame(to, options, recording, stack, i, "    ", "\n");
	fprintf(to, "    %-16s ", "-");
	put_safe(to, recording_string(recording, stack->comm));
	fprintf(to, " (%u)\n", stack->pid);
}

static void add(struct entries *entries, const struct bcc_profile *options,
		const struct measure *measure, const struct recording *recording,
		const struct recording_stack *stack)
{
	struct entry *entry = &entries->list[entries->nr++];
	size_t size = 0;
	FILE *to;

	*entry = (struct entry){ .shown = measure_stack(measure, stack), .pid = stack->pid };
	to = must_memstream(&entry->text, &size);
	if (options->folded)
		put_folded(to, options, recording, stack);
	else
		put_lines(to, options, recording, stack);
	must_memstream_close(to);
}

static int by_text(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	return x->pid != y->pid ? (x->pid < y->pid ? -1 : 1) : strcmp(x->text, y->text);
}

static int by_shown(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->shown != y->shown)
		return x->shown < y->shown ? -1 : 1;

	int order = strcmp(x->text, y->text);

	return order ? order : (x->pid > y->pid) - (x->pid < y->pid);
}

/* Make entries that read the same one. */
static void merge(struct entries *entries)
{
	size_t nr = 0;

	qsort(entries->list, entries->nr, sizeof(*entries->list), by_text);
	for (size_t i = 0; i < entries->nr; i++) {
		struct entry *entry = &entries->list[i];

		if (nr && !by_text(&entries->list[nr - 1], entry)) {
			entries->list[nr - 1].shown += entry->shown;
			free(entry->text);
		} else {
			entries->list[nr++] = *entry;
		}
	}
	entries->nr = nr;
	qsort(entries->list, nr, sizeof(*entries->list), by_shown);
}

void bcc_profile_write(FILE *to, const struct bcc_profile *options,
		       const struct recording *recording)
{
	CLEANUP(entries_fini) struct entries entries = { 0 };
	struct measure measure;

	measure_init(recording, &measure);
	entries.list = must_calloc(recording->nr_stacks, sizeof(*entries.list));
	for (size_t i = 0; i < recording->nr_stacks; i++)
		add(&entries, options, &measure, recording, &recording->stacks[i]);
	merge(&entries);
	if (!options->folded)
		putc('\n', to);
	for (size_t i = 0; i < entries.nr; i++)
		fprintf(to, options->folded ? "%s %" PRIu64 "\n" : "%s        %" PRIu64 "\n\n",
			entries.list[i].text, entries.list[i].shown);
}
