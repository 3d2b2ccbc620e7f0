/* SPDX-License-Identifier: Apache-2.0 */
#include "format/thread_table.h"

#include <inttypes.h>
#include <stdint.h>

#include "base/text.h"
#include "view/measure.h"

/* The number @name of what begins with @head. */
static uint64_t number_of(const struct recording *recording, const char *head, const char *name)
{
	char key[64];

	snprintf(key, sizeof(key), "%s.%s", head, name);
	return recording_number(recording, key);
}

static void write_row(FILE *to, const struct recording *recording, const char *head,
		      const char *name)
{
	static const char *const kinds[] = { "on_cpu", "runnable", "blocked", "unseen" };
	const struct measure ns = { .kind = MEASURE_TIME, .unit_ns = 1 };
	char text[MEASURE_NUMBER_SIZE];

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		fprintf(to, " %11s",
			measure_number(&ns, number_of(recording, head, kinds[i]), text));
	fprintf(to, " %10" PRIu64 "  %s\n",
		number_of(recording, head, "blocks") + number_of(recording, head, "runnable_waits"),
		name);
}

static void write_thread(FILE *to, const struct recording *recording, size_t idx)
{
	char head[32], key[64], comm[128], name[256];
	const char *note;

	snprintf(head, sizeof(head), "threads[].%zu", idx);
	snprintf(key, sizeof(key), "%s.comm", head);
	note = recording_note(recording, key);
	text_escape(comm, sizeof(comm), note ? note : "", "");
	snprintf(name, sizeof(name), "%s %" PRIu64 "/%" PRIu64, comm,
		 number_of(recording, head, "pid"), number_of(recording, head, "tid"));
	write_row(to, recording, head, name);
}

/* The number of threads that the recording lists. */
static size_t count(const struct recording *recording)
{
	char key[64];
	size_t nr = 0;

	do
		snprintf(key, sizeof(key), "threads[].%zu.comm", nr);
	while (recording_note(recording, key) && ++nr);
	return nr;
}

bool thread_table_is_all(const struct recording *recording)
{
	return !recording->nr_stacks && recording_note(recording, "threads[].0.comm");
}

void thread_table_write(FILE *to, const struct recording *recording, size_t nr)
{
	size_t nr_all = count(recording);

	if (!nr_all)
		return;
	fprintf(to,
		"\nThreads (exactly; those first that had a CPU or waited for one longest)\n\n"
		" %11s %11s %11s %11s %10s  %s\n",
		"on a CPU", "runnable", "blocked", "unseen", "waits", "thread, pid/tid");
	for (size_t i = 0; i < nr_all && i < nr; i++)
		write_thread(to, recording, i);
	if (nr_all > nr)
		fprintf(to, "%60s... and %zu more\n", "", nr_all - nr);
	if (recording_number(recording, "threads_others.threads"))
		write_row(to, recording, "threads_others", "all others");
}
