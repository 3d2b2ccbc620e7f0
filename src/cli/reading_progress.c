/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/reading_progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/text.h"
#include "cli/status_line.h"

#define PERIOD_MS 1000u

struct reading_progress {
	struct status_line line;
	struct reading_facts facts;
	int fd;
	uint64_t next_ms; /* when to draw */
};

void reading_progress_text(const struct reading_facts *facts, char *buf, size_t size)
{
	uint64_t done = facts->bytes, times = 1;
	char which[48] = "", name[128];

	if (facts->nr > 1)
		snprintf(which, sizeof(which), "%zu of %zu, ", facts->idx + 1, facts->nr);
	text_escape(name, sizeof(name), facts->name, "");
	if (!facts->size_bytes) {
		snprintf(buf, size, "reading %s%s: %.1f MiB", which, name,
			 (double)facts->bytes / (1 << 20));
		return;
	}
	if (done > facts->size_bytes) {
		times += (done - 1) / facts->size_bytes;
		done -= (times - 1) * facts->size_bytes;
	}
	snprintf(buf, size, "reading %s%s%s: %.0f %% of %.1f MiB", which, name,
		 times > 1 ? " again" : "", 100 * (double)done / (double)facts->size_bytes,
		 (double)facts->size_bytes / (1 << 20));
}

/* As io_set_watch() has it. */
static void take_read(void *ctx, int fd, size_t nr)
{
	struct reading_progress *progress = ctx;
	uint64_t now = clock_monotonic_ms();
	char text[256];

	if (fd != progress->fd)
		return;
	progress->facts.bytes += nr;
	if (now < progress->next_ms)
		return;
	progress->next_ms = now + PERIOD_MS;
	reading_progress_text(&progress->facts, text, sizeof(text));
	status_line_draw(&progress->line, text);
}

struct reading_progress *reading_progress_create(const struct output_options *options)
{
	struct reading_progress *progress = NULL;

	if (output_options_want_progress(options) && status_line_is_possible())
		progress = calloc(1, sizeof(*progress));
	if (!progress)
		return NULL;
	status_line_init(&progress->line, false);
	progress->fd = -1;
	progress->next_ms = clock_monotonic_ms() + PERIOD_MS;
	io_set_watch(take_read, progress);
	return progress;
}

void reading_progress_destroy(struct reading_progress *progress)
{
	if (!progress)
		return;
	io_set_watch(NULL, NULL);
	status_line_fini(&progress->line);
	free(progress);
}

void reading_progress_begin(struct reading_progress *progress, const char *name, int fd, size_t idx,
			    size_t nr)
{
	struct stat st;

	if (!progress)
		return;
	progress->fd = fd;
	progress->facts = (struct reading_facts){ .name = name, .idx = idx, .nr = nr };
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size > 0)
		progress->facts.size_bytes = (uint64_t)st.st_size;
}
