/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/sleeper_memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "proc/code_reader.h"
#include "proc/proc_files.h"

#define PAGE sizeof(((struct sleeper_page *)NULL)->bytes)

/* The kernel has this text at hand. */
#define PATIENCE_NS (50 * NS_PER_MS)

void sleeper_memory_begin(struct sleeper_memory *memory, pid_t pid, pid_t tid, uint32_t arrivals)
{
	memory->pid = pid;
	memory->tid = tid;
	memory->arrivals = arrivals;
	memory->nr_reads = 0;
	for (size_t i = 0; i < SLEEPER_PAGES; i++)
		memory->pages[i].number = 0;
}

/* The page that holds @addr; NULL: it is not resident, or too many were read. */
static const struct sleeper_page *find_page(struct sleeper_memory *memory, uint64_t addr)
{
	uint64_t number = addr / PAGE + 1;
	struct sleeper_page *page = &memory->pages[number % SLEEPER_PAGES];

	if (page->number != number) {
		if (memory->nr_reads >= SLEEPER_READS_MAX)
			return NULL;
		memory->nr_reads++;
		page->number = number;
		page->is_there =
			!code_reader_read(memory->pid, (number - 1) * PAGE, page->bytes, PAGE);
	}
	return page->is_there ? page : NULL;
}

int sleeper_memory_read(struct sleeper_memory *memory, uint64_t addr, void *dst, size_t size)
{
	uint8_t *to = dst;

	while (size) {
		const struct sleeper_page *page = find_page(memory, addr);
		size_t off = addr % PAGE, part = PAGE - off < size ? PAGE - off : size;

		if (!page)
			return -EIO;
		memcpy(to, page->bytes + off, part);
		to += part;
		addr += part;
		size -= part;
	}
	return 0;
}

bool sleeper_memory_holds(const struct sleeper_memory *memory)
{
	uint64_t ran_ns, waited_ns, arrivals;
	char name[64], text[128];
	ssize_t nr;

	if (!memory->nr_reads)
		return true;
	/* Documentation/scheduler/sched-stats.rst */
	snprintf(name, sizeof(name), "task/%d/schedstat", (int)memory->tid);
	nr = proc_file_read(memory->pid, name, 0, text, sizeof(text) - 1, PATIENCE_NS);
	if (nr < 0)
		return false;
	text[nr] = '\0';
	return sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &ran_ns, &waited_ns, &arrivals) ==
		       3 &&
	       (uint32_t)arrivals == memory->arrivals;
}
