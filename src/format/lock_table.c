/* SPDX-License-Identifier: Apache-2.0 */
#include "format/lock_table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "format/lock_kind.h"
#include "view/measure.h"
#include "view/share.h"

enum { NR_LOCKS = 20, NR_PAIRS = 8 };

/* The field that such a recording is told apart by. */
#define FIELD "lock"

#define NO_STACK  UINT32_MAX
#define NOT_ENDED (UINT32_MAX - 1)

/* Waits of one function at one lock, that one other ended. */
struct pair {
	uint32_t lock;		/* text of the recording */
	uint32_t waiter, waker; /* ids of texts, or NO_STACK, NOT_ENDED */
	enum lock_kind kind;
	uint64_t ns;
};

struct lock {
	uint32_t text;
	enum lock_kind kind;	 /* of most of its waits */
	size_t first, nr;	 /* pairs, the longest wait first */
	uint64_t ns, sampled_ns; /* exactly, where that is known */
	uint64_t waits;		 /* 0: not known */
};

struct table {
	const struct frame_texts *texts;
	struct measure measure;
	struct pair *pairs; /* owned [nr_pairs] */
	size_t nr_pairs;
	struct lock *locks; /* owned [nr_locks] */
	size_t nr_locks;
};

static void table_fini(struct table *table)
{
	free(table->pairs);
	free(table->locks);
}

bool lock_table_fits(const struct recording *recording)
{
	return !strcmp(recording_string(recording, recording->key), FIELD);
}

/* The name of line @line of the frame; "": it has none. */
static const char *line_name(const struct recording *recording, const struct recording_frame *frame,
			     size_t line)
{
	uint32_t function;

	if (line >= frame->nr_lines)
		return "";
	function = recording->lines[frame->first_line + line].function;
	return recording_string(recording, recording->functions[function].name);
}

/* As first_outside(), but the first script frame; NO_STACK: the range has no such frame. */
static uint32_t first_script(const struct table *table, const struct recording_stack *stack,
			     size_t from, size_t end, int step)
{
	const struct frame_texts *texts = table->texts;

	for (size_t i = from; i != end; i += (size_t)step) {
		uint32_t idx = texts->recording->frame_ids[stack->first_frame + i], nr_slots;

		if (texts->recording->frames[idx].origin == FPL_ORIGIN_SCRIPT)
			return texts->ids[frame_slots(texts, idx, &nr_slots)];
	}
	return NO_STACK;
}

/* The first of the frames [@from, @end) of @stack, in steps of @step, that is no library's and no
 * interpreter's. Returns the id of its text; *@kind: what the innermost of those before it tells.
 */
static uint32_t first_outside(const struct table *table, const struct recording_stack *stack,
			      size_t from, size_t end, int step, enum lock_kind *kind)
{
	const struct frame_texts *texts = table->texts;
	const struct recording *recording = texts->recording;
	uint32_t script = first_script(table, stack, from, end, step), found = script;

	for (size_t i = from; i != end; i += (size_t)step) {
		uint32_t idx = recording->frame_ids[stack->first_frame + i], nr_slots;
		const struct recording_frame *frame = &recording->frames[idx];
		uint32_t slot = frame_slots(texts, idx, &nr_slots);
		char buf[128];
		const char *object = frame_place(recording, frame, buf, sizeof(buf));

		for (uint32_t line = 0; line < nr_slots; line++) {
			struct lock_function function =
				lock_function_of(line_name(recording, frame, line), object);

			/* a name further out tells more than none */
			if (*kind == LOCK_KIND_NONE ||
			    (*kind == LOCK_KIND_LIBC && function.kind != LOCK_KIND_NONE))
				*kind = function.kind;
			/* where all are libraries', the innermost stands for them */
			if (script == NO_STACK && (!function.is_inner || found == NO_STACK))
				found = texts->ids[slot + line];
			if (!function.is_inner)
				return found;
		}
	}
	return found;
}

static struct pair pair_of(const struct table *table, const struct recording_stack *stack)
{
	const struct recording *recording = table->texts->recording;
	size_t nr_waker = recording_waker_frames(recording, stack);
	enum lock_kind ignored = LOCK_KIND_NONE;
	struct pair pair = {
		.lock = stack->key,
		.ns = measure_stack(&table->measure, stack),
	};

	pair.waiter = first_outside(table, stack, nr_waker, stack->nr_user, 1, &pair.kind);
	/* leaf first: the last before the delimiter, up to the thread's name */
	pair.waker = nr_waker > 2 ? first_outside(table, stack, nr_waker - 2, 0, -1, &ignored)
		     : nr_waker	  ? first_outside(table, stack, 0, 1, 1, &ignored)
				  : NOT_ENDED;
	return pair;
}

static int compare_pairs(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	if (a->lock != b->lock)
		return a->lock < b->lock ? -1 : 1;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	if (a->waiter != b->waiter)
		return a->waiter < b->waiter ? -1 : 1;
	return (a->waker > b->waker) - (a->waker < b->waker);
}

static int compare_ns(const void *left, const void *right)
{
	const struct pair *a = left, *b = right;

	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return compare_pairs(a, b);
}

/* Locks first, then what was waited for longest. */
static int compare_locks(const void *left, const void *right)
{
	const struct lock *a = left, *b = right;
	bool a_is = lock_kind_is_lock(a->kind), b_is = lock_kind_is_lock(b->kind);

	if (a_is != b_is)
		return a_is ? -1 : 1;
	if (a->ns != b->ns)
		return a->ns < b->ns ? 1 : -1;
	return (a->text > b->text) - (a->text < b->text);
}

/* One entry for each pair, those of a lock together. */
static void find_pairs(struct table *table)
{
	const struct recording *recording = table->texts->recording;
	size_t nr = 0;

	table->pairs = must_calloc(recording->nr_stacks + 1, sizeof(*table->pairs));
	for (size_t i = 0; i < recording->nr_stacks; i++)
		table->pairs[nr++] = pair_of(table, &recording->stacks[i]);
	qsort(table->pairs, nr, sizeof(*table->pairs), compare_pairs);
	for (size_t i = 0; i < nr; i++) {
		struct pair *last = table->nr_pairs ? &table->pairs[table->nr_pairs - 1] : NULL;

		if (last && !compare_pairs(last, &table->pairs[i]))
			last->ns += table->pairs[i].ns;
		else
			table->pairs[table->nr_pairs++] = table->pairs[i];
	}
}

/* The kind of most of the waits of @lock. */
static enum lock_kind usual_kind(const struct table *table, const struct lock *lock)
{
	uint64_t sums[LOCK_KIND_COUNT] = { 0 };
	enum lock_kind most = LOCK_KIND_NONE;

	for (size_t i = 0; i < lock->nr; i++)
		sums[table->pairs[lock->first + i].kind] += table->pairs[lock->first + i].ns;
	for (unsigned int i = 0; i < LOCK_KIND_COUNT; i++)
		if (sums[i] > sums[most])
			most = (enum lock_kind)i;
	return most;
}

/* Fill in the exact sums of locks, where the recording has them. */
static void take_sums(struct table *table)
{
	const struct recording *recording = table->texts->recording;

	for (size_t i = 0;; i++) {
		char key[64];
		const char *name;
		uint64_t ns, waits;

		snprintf(key, sizeof(key), "locks[].%zu.lock", i);
		name = recording_note(recording, key);
		if (!name)
			return;
		snprintf(key, sizeof(key), "locks[].%zu.wait_ns", i);
		ns = recording_number(recording, key);
		snprintf(key, sizeof(key), "locks[].%zu.waits", i);
		waits = recording_number(recording, key);
		for (size_t j = 0; j < table->nr_locks; j++) {
			struct lock *lock = &table->locks[j];

			if (strcmp(recording_string(recording, lock->text), name) != 0)
				continue;
			lock->ns = ns;
			lock->waits = waits;
		}
	}
}

static void find_locks(struct table *table)
{
	table->locks = must_calloc(table->nr_pairs + 1, sizeof(*table->locks));
	for (size_t i = 0; i < table->nr_pairs; i++) {
		struct lock *lock = table->nr_locks ? &table->locks[table->nr_locks - 1] : NULL;

		if (!lock || lock->text != table->pairs[i].lock) {
			lock = &table->locks[table->nr_locks++];
			*lock = (struct lock){ .text = table->pairs[i].lock, .first = i };
		}
		lock->nr++;
		lock->sampled_ns += table->pairs[i].ns;
	}
	for (size_t i = 0; i < table->nr_locks; i++) {
		struct lock *lock = &table->locks[i];

		lock->kind = usual_kind(table, lock);
		lock->ns = lock->sampled_ns;
		qsort(table->pairs + lock->first, lock->nr, sizeof(*table->pairs), compare_ns);
	}
	take_sums(table);
	qsort(table->locks, table->nr_locks, sizeof(*table->locks), compare_locks);
}

static const char *text_of(const struct table *table, uint32_t id)
{
	if (id == NO_STACK)
		return "[no stack]";
	return id == NOT_ENDED ? "[not ended]" : strings_text(&table->texts->strings, id);
}

static void write_pair(FILE *to, const struct table *table, const struct lock *lock,
		       const struct pair *pair)
{
	char part[MEASURE_NUMBER_SIZE];

	fprintf(to, "    %6.1f%%  %10s  %s\n", share_percent(pair->ns, lock->sampled_ns),
		measure_plain(&table->measure, pair->ns, part), text_of(table, pair->waiter));
	fprintf(to, "%25s ended by %s\n", "", text_of(table, pair->waker));
}

static void write_lock(FILE *to, const struct table *table, const struct lock *lock)
{
	const struct recording *recording = table->texts->recording;
	char sum[MEASURE_NUMBER_SIZE], waits[32] = "", name[512];

	if (lock->waits)
		snprintf(waits, sizeof(waits), "%" PRIu64, lock->waits);
	text_escape(name, sizeof(name), recording_string(recording, lock->text), "");
	fprintf(to, "%12s %9s  %-9s  %s\n", measure_plain(&table->measure, lock->ns, sum), waits,
		lock_kind_word(lock->kind), name);
	for (size_t i = 0; i < lock->nr && i < NR_PAIRS; i++)
		write_pair(to, table, lock, &table->pairs[lock->first + i]);
	if (lock->nr > NR_PAIRS)
		fprintf(to, "%25s ... and %zu more\n", "", lock->nr - NR_PAIRS);
}

/* Write the locks or, without @are_locks, the other waits. */
static void write_locks(FILE *to, const struct table *table, bool are_locks)
{
	size_t nr = 0;

	for (size_t i = 0; i < table->nr_locks; i++) {
		if (lock_kind_is_lock(table->locks[i].kind) != are_locks)
			continue;
		if (!nr)
			fprintf(to, "\n%s\n\n      waited     waits  kind       %s\n",
				are_locks ? "Locks (who waited, and who ended it)"
					  : "Other waits at futexes: idle threads are among them",
				are_locks ? "lock" : "at");
		if (nr++ < NR_LOCKS)
			write_lock(to, table, &table->locks[i]);
	}
	if (nr > NR_LOCKS)
		fprintf(to, "%25s ... and %zu more\n", "", nr - NR_LOCKS);
}

static void write_others(FILE *to, const struct table *table)
{
	const struct recording *recording = table->texts->recording;
	uint64_t waits = recording_number(recording, "locks_others.waits");
	char sum[MEASURE_NUMBER_SIZE];

	if (waits)
		fprintf(to,
			"\n%12s %9" PRIu64
			"  at other locks: none of their waits was sampled, or there was no room\n",
			measure_plain(&table->measure,
				      recording_number(recording, "locks_others.wait_ns"), sum),
			waits);
}

void lock_table_write(FILE *to, const struct frame_texts *texts)
{
	CLEANUP(table_fini) struct table table = { .texts = texts };

	measure_init(texts->recording, &table.measure);
	find_pairs(&table);
	find_locks(&table);
	write_locks(to, &table, true);
	write_locks(to, &table, false);
	write_others(to, &table);
}
