/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/script_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "proc/code_reader.h"
#include "profile/sleeper_memory.h"
#include "script/language.h"
#include "unwind/replay.h"

/* Code objects that are read together: their pages are kept, and mostly shared. */
#define BATCH 32u

/* Each is on few pages: what it consists of, a table of lines of three, and its content. */
_Static_assert(SLEEPER_READS_MAX / BATCH > 2 + FPL_SCRIPT_TEXTS + FPL_SCRIPT_MORE_TEXTS,
	       "a batch has room for all pages of its code objects");

struct script_memory {
	struct sleeper_memory pages; /* of the process at hand */
	struct fpl_script_code records[BATCH];
	size_t sizes[BATCH]; /* 0: it cannot be read */
};

int script_memory_create(struct script_memory **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void script_memory_destroy(struct script_memory *memory)
{
	free(memory);
}

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_process(const void *left, const void *right)
{
	const struct script_wanted *a = left, *b = right;
	int order = compare(a->pid, b->pid);

	if (!order)
		order = compare(a->start_ns, b->start_ns);
	return order ? order : compare(a->code, b->code);
}

static int by_round(const void *left, const void *right)
{
	const struct script_wanted *a = left, *b = right;
	int order = compare(a->round, b->round);

	return order ? order : by_process(left, right);
}

static bool is_same_process(const struct script_wanted *a, const struct script_wanted *b)
{
	return a->pid == b->pid && a->start_ns == b->start_ns;
}

/* The first BATCH of each process come first, then the next of each. */
static void sort_by_turns(struct script_wanted *list, size_t nr)
{
	uint32_t idx = 0;

	qsort(list, nr, sizeof(*list), by_process);
	for (size_t i = 0; i < nr; i++) {
		idx = i && is_same_process(&list[i], &list[i - 1]) ? idx + 1 : 0;
		list[i].round = idx / BATCH;
	}
	qsort(list, nr, sizeof(*list), by_round);
}

/* replay_input.read_memory */
static int read_pages(void *arg, uint64_t addr, void *dst, size_t size)
{
	return sleeper_memory_read(arg, addr, dst, size);
}

static void forget_pages(struct script_memory *memory, const struct script_wanted *process)
{
	sleeper_memory_begin(&memory->pages, (pid_t)process->pid, (pid_t)process->pid, 0);
}

/* Is the code object of @wanted in use? */
static bool is_alive(struct script_memory *memory, const struct script_wanted *wanted)
{
	const struct script_language *language = script_language(wanted->language);
	uint64_t addr = wanted->word & FPL_SCRIPT_CODE_MASK & ~7ull, pointer;
	uint8_t head[SCRIPT_HEAD_BYTES], behind[SCRIPT_HEAD_BYTES] = { 0 };

	if (!language || !language->is_alive)
		return true;
	if (sleeper_memory_read(&memory->pages, addr, head, sizeof(head)))
		return false;
	if (language->behind_off &&
	    (sleeper_memory_read(&memory->pages, addr + language->behind_off, &pointer,
				 sizeof(pointer)) ||
	     sleeper_memory_read(&memory->pages, pointer, behind, sizeof(behind))))
		return false;
	return language->is_alive(head, behind);
}

/* Read @list [@nr], at most BATCH, of one process. The content is looked at when all has been
 * copied, in pages that are read anew: so the copy is of that code object. */
static void read_batch(struct script_memory *memory, const struct script_wanted *list, size_t nr,
		       script_read_fn take, void *ctx)
{
	static const struct fpl_regs no_stack;
	const struct replay_input input = { .regs = &no_stack,
					    .read_memory = read_pages,
					    .arg = &memory->pages };
	bool is_there = code_reader_is_of((pid_t)list->pid, list->start_ns), holds[BATCH];

	forget_pages(memory, list);
	for (size_t i = 0; i < nr; i++) {
		struct fpl_script_code *record = &memory->records[i];
		uint64_t place = (uint64_t)list[i].content << 32;

		memory->sizes[i] = is_there ? replay_script_read(&input, list[i].rule, list[i].word,
								 place, record)
					    : 0;
		if (!record->size[0])
			memory->sizes[i] = 0;
	}
	forget_pages(memory, list);
	for (size_t i = 0; i < nr; i++)
		holds[i] = memory->sizes[i] && is_alive(memory, &list[i]) &&
			   replay_script_holds(&input, list[i].rule, list[i].word,
					       (uint64_t)list[i].content << 32);
	is_there = is_there && code_reader_is_of((pid_t)list->pid, list->start_ns);
	for (size_t i = 0; i < nr; i++) {
		bool is_read = is_there && holds[i];

		take(ctx, &list[i], is_read ? &memory->records[i] : NULL, memory->sizes[i],
		     is_there && memory->sizes[i] ? SCRIPT_UNNAMED_CHANGED : SCRIPT_UNNAMED_GONE);
	}
}

void script_memory_read(struct script_memory *memory, struct script_wanted *list, size_t nr,
			uint64_t deadline_ns, script_read_fn take, void *ctx)
{
	size_t end;

	sort_by_turns(list, nr);
	for (size_t at = 0; at < nr && clock_monotonic_ns() < deadline_ns; at = end) {
		end = at + 1;
		while (end < nr && list[end].round == list[at].round &&
		       is_same_process(&list[end], &list[at]))
			end++;
		read_batch(memory, list + at, end - at, take, ctx);
	}
}
