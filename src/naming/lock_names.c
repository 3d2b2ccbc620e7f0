/* SPDX-License-Identifier: Apache-2.0 */
#include "naming/lock_names.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"

#define LOCKS_NUMBERED 256u /* each has a few numbers, and adding one costs a search of all */

void lock_names_fini(struct lock_names *names)
{
	for (size_t i = 0; i < names->nr; i++)
		free(names->list[i].text);
	free(names->list);
	*names = (struct lock_names){ .nr = 0 };
}

static int compare_address(const void *left, const void *right)
{
	const struct lock_name *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->addr > b->addr) - (a->addr < b->addr);
}

/* The same, and the one whose place is known first. */
static int compare_all(const void *left, const void *right)
{
	const struct lock_name *a = left, *b = right;
	int order = compare_address(a, b);

	return order ? order : (a->place < b->place) - (a->place > b->place);
}

/* By object, and the address there. */
static int compare_place(const void *left, const void *right)
{
	const struct lock_name *a = *(struct lock_name *const *)left;
	const struct lock_name *b = *(struct lock_name *const *)right;

	return (a->place > b->place) - (a->place < b->place);
}

/* List each lock once. */
static int list_locks(const struct profile *profile, struct lock_names *ret)
{
	size_t nr = 0;

	ret->list = calloc(profile->nr_stacks + 1, sizeof(*ret->list));
	if (!ret->list)
		return -ENOMEM;
	for (size_t i = 0; i < profile->nr_stacks; i++) {
		const struct profile_stack *stack = &profile->stacks[i];
		const uint64_t *key =
			stack->frames + stack->nr_user + stack->nr_kernel + stack->nr_fp;

		if (stack_is_lock(stack->flags, stack->nr_key))
			ret->list[nr++] = (struct lock_name){
				.addr = key[FPL_WAIT_ADDR],
				.place = key[FPL_WAIT_PLACE],
				.pid = stack->pid,
				.memory = (uint32_t)key[FPL_WAIT_MEMORY],
			};
	}
	qsort(ret->list, nr, sizeof(*ret->list), compare_all);
	for (size_t i = 0; i < nr; i++)
		if (!ret->nr || compare_address(&ret->list[ret->nr - 1], &ret->list[i]))
			ret->list[ret->nr++] = ret->list[i];
	return 0;
}

/* To be freed; NULL: no memory. */
__attribute__((__format__(__printf__, 1, 2))) static char *make_text(const char *format, ...)
{
	char *text = NULL;
	va_list args;
	int len;

	va_start(args, format);
	len = vasprintf(&text, format, args);
	va_end(args);
	return len < 0 ? NULL : text;
}

/* The text of a lock in an object at @path, of which @place tells; NULL: it is not there, or there
 * is no memory. */
static char *object_text(const char *path, const struct lock_name *lock,
			 const struct symbol_place *place)
{
	uint64_t vaddr = frame_addr(lock->place);

	if (place->same.start == place->same.end)
		return NULL;
	if (!place->name)
		return make_text("[%s+0x%" PRIx64 "]", text_path_name(path), vaddr);
	if (vaddr == place->start)
		return strdup(place->name);
	return make_text("%s+0x%" PRIx64, place->name, vaddr - place->start);
}

static char *memory_text(const struct lock_name *lock)
{
	static const char *const words[] = {
		[FPL_LOCK_ANON] = "anon",
		[FPL_LOCK_HEAP] = "heap",
		[FPL_LOCK_STACK] = "stack",
	};

	if (lock->addr == FPL_LOCK_SEVERAL)
		return strdup("[several]");
	return make_text("[%s 0x%" PRIx64 "]",
			 words[lock->memory < ARRAY_SIZE(words) ? lock->memory : FPL_LOCK_ANON],
			 lock->addr);
}

/* Name what of @locks [@nr], ascending, lies in object @id. Where its file cannot be read, all is
 * taken for memory of its own. */
static int name_object(const struct names *names, uint32_t id, struct lock_name *const *locks,
		       size_t nr)
{
	AUTO_FREE uint64_t *vaddrs = calloc(nr + 1, sizeof(*vaddrs));
	CLEANUP(symbol_places_fini) struct symbol_places places = { .places = NULL };
	struct fpl_err err = { 0 };
	size_t nr_vaddrs = 0, at = 0;
	int code;

	if (!vaddrs)
		return -ENOMEM;
	/* several processes may have it */
	for (size_t i = 0; i < nr; i++)
		if (!i || locks[i]->place != locks[i - 1]->place)
			vaddrs[nr_vaddrs++] = frame_addr(locks[i]->place);
	code = namer_data(names->namer, id, vaddrs, nr_vaddrs, &places, &err);
	if (code && code != -ENOENT)
		fpl_log(FPL_LOG_WARN, "%s: its locks have no names", err.msg);
	for (size_t i = 0; !code && i < nr; i++) {
		at += i && locks[i]->place != locks[i - 1]->place;
		locks[i]->text = object_text(names->profile->objects[id - 1].path, locks[i],
					     &places.places[at]);
	}
	return code == -ENOMEM ? code : 0;
}

static bool is_known(const struct profile *profile, uint32_t id)
{
	return id > 0 && id <= profile->nr_objects && profile->objects[id - 1].path;
}

static int name_places(const struct names *names, struct lock_name **sorted, size_t nr)
{
	int code = 0;

	for (size_t i = 0, next; !code && i < nr; i = next) {
		uint32_t id = frame_object(sorted[i]->place);

		for (next = i; next < nr && frame_object(sorted[next]->place) == id;)
			next++;
		if (is_known(names->profile, id))
			code = name_object(names, id, sorted + i, next - i);
	}
	return code;
}

int lock_names_make(const struct names *names, struct lock_names *ret)
{
	AUTO_FREE struct lock_name **sorted = NULL;
	int code;

	*ret = (struct lock_names){ .nr = 0 };
	code = list_locks(names->profile, ret);
	sorted = calloc(ret->nr + 1, sizeof(*sorted));
	if (code || !sorted)
		return -ENOMEM;
	for (size_t i = 0; i < ret->nr; i++)
		sorted[i] = &ret->list[i];
	qsort(sorted, ret->nr, sizeof(*sorted), compare_place);
	code = name_places(names, sorted, ret->nr);
	for (size_t i = 0; !code && i < ret->nr; i++) {
		if (!ret->list[i].text)
			ret->list[i].text = memory_text(&ret->list[i]);
		if (!ret->list[i].text)
			code = -ENOMEM;
	}
	return code;
}

const char *lock_names_find(const struct lock_names *names, uint32_t pid, uint64_t addr)
{
	const struct lock_name key = { .pid = pid, .addr = addr };
	const struct lock_name *found =
		names->nr ? bsearch(&key, names->list, names->nr, sizeof(key), compare_address)
			  : NULL;

	return found ? found->text : NULL;
}

struct sum {
	const char *text; /* NULL: no stack has it */
	struct fpl_lock lock;
};

/* By name, those without one last. */
static int compare_text(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;

	if (!a->text || !b->text)
		return !a->text - !b->text;
	return strcmp(a->text, b->text);
}

static int compare_wait(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;

	if (a->lock.ns != b->lock.ns)
		return a->lock.ns < b->lock.ns ? 1 : -1;
	return compare_text(a, b);
}

static void add_up(struct fpl_lock *to, const struct fpl_lock *lock)
{
	to->ns += lock->ns;
	to->nr += lock->nr;
}

/* Join those of one name in @sums [@nr], the longest wait first. Returns how many are left; the
 * others are added to @others. */
static size_t join(struct sum *sums, size_t nr, struct fpl_lock *others)
{
	size_t kept = 0;

	qsort(sums, nr, sizeof(*sums), compare_text);
	for (size_t i = 0; i < nr; i++) {
		if (!sums[i].text)
			add_up(others, &sums[i].lock);
		else if (kept && !strcmp(sums[kept - 1].text, sums[i].text))
			add_up(&sums[kept - 1].lock, &sums[i].lock);
		else
			sums[kept++] = sums[i];
	}
	qsort(sums, kept, sizeof(*sums), compare_wait);
	for (; kept > LOCKS_NUMBERED; kept--)
		add_up(others, &sums[kept - 1].lock);
	return kept;
}

static int add_sum(struct recording *to, size_t idx, const struct sum *sum)
{
	char key[64];
	int err;

	snprintf(key, sizeof(key), "locks[].%zu.lock", idx);
	err = recording_set_note(to, key, sum->text);
	snprintf(key, sizeof(key), "locks[].%zu.wait_ns", idx);
	if (!err)
		err = recording_add_number(to, key, sum->lock.ns);
	snprintf(key, sizeof(key), "locks[].%zu.waits", idx);
	return err ? err : recording_add_number(to, key, sum->lock.nr);
}

int lock_names_add_numbers(const struct lock_names *names, const struct profile *profile,
			   struct recording *to)
{
	AUTO_FREE struct sum *sums = calloc(profile->nr_locks + 1, sizeof(*sums));
	struct fpl_lock others = profile->locks_beyond;
	size_t nr;
	int err;

	if (!sums)
		return -ENOMEM;
	for (size_t i = 0; i < profile->nr_locks; i++) {
		const struct profile_lock *lock = &profile->locks[i];

		sums[i] = (struct sum){
			.text = lock_names_find(names, lock->pid, lock->addr),
			.lock = { .ns = lock->ns, .nr = lock->nr },
		};
	}
	nr = join(sums, profile->nr_locks, &others);
	err = recording_add_number(to, "locks[]", 0);
	for (size_t i = 0; !err && i < nr; i++)
		err = add_sum(to, i, &sums[i]);
	if (!err)
		err = recording_add_number(to, "locks_others.wait_ns", others.ns);
	return err ? err : recording_add_number(to, "locks_others.waits", others.nr);
}
